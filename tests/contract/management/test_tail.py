"""The live tail of a pipe: its contents, their limit, and its end."""

import http.client
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pipelines.management.api.rights.tokens import TOKENS, Token, digest
from shared.contracts.topics import Topic
from shared.dynamodb.item_store import ItemStore
from shared.runtime.clock import wall_clock
from tests.contract.management.api_process import ANY, START_SECONDS, ApiProcess
from tests.contract.management.side_records import Tail, make_pipes, put_event
from tests.harness.topics import Topics, outbound_headers
from tests.harness.waiting import eventually

SECRET = "ann@example.com"
MASKS = [{"path": "$.data.email", "action": "redact"}, {"path": "$.subject", "action": "hash"}]


@pytest.fixture
def side(topics: str) -> Topics:
    return Topics(topics)


def threads(api: ApiProcess, beginning: str) -> int:
    """Number of the process's threads that have this prefix in their names."""
    names = []
    for each in Path(f"/proc/{api.process.pid}/task").glob("*/comm"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            names.append(each.read_text())
    return sum(name.startswith(beginning) for name in names)


def consumers(api: ApiProcess) -> int:
    """Number of Kafka clients in the process: each has one main thread, and one for each known broker."""
    return threads(api, "rdk:main")


def by_id(*found: Any) -> list[Any]:
    """Sort by id: the topic has several partitions."""
    return sorted(found, key=lambda each: str(each["id"]))


def end_now(api: ApiProcess, text: str) -> None:
    """Let a token expire."""
    items = ItemStore(api.table, api.endpoint, Token)
    token = items.get(TOKENS, digest(text))
    assert token is not None
    items.put(TOKENS, digest(text), replace(token, expires_ms=wall_clock()))


def open_tails(api: ApiProcess) -> float:
    lines = api.request("GET", "/metrics").text.splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("hifi_api_open_tails ")))


def test_it_shows_a_pipes_events_from_now_on_as_they_leave(side_api: ApiProcess, side: Topics) -> None:
    make_pipes(side_api, "one", "one.p", "one.q", masks=MASKS, transform="{mail: data.email, n: data.n}")
    put_event(side, "one", "one.p", 1)
    side.flush()
    with Tail(side_api, "one", "one.p", side_api.token("one", "viewer")).started() as tail:
        assert tail.headers["content-type"].startswith("text/event-stream")
        put_event(side, "one", "one.q", 2)
        put_event(side, "other", "one.p", 3)
        put_event(side, "one", "one.p", 4, {"email": SECRET, "n": 1, "age": 41}, ce_subject=SECRET)
        put_event(side, "one", "one.p", 5, {"n": 10})
        side.flush()
        first, second = by_id(tail.next_of("event"), tail.next_of("event"))
    assert (first["id"], first["event"]["data"]) == ("e4", {"mail": "***", "n": 1})
    assert (len(first["event"]["subject"]), first["example_hashes"]) == (64, True)
    assert (second["id"], second["event"]["data"]) == ("e5", {"mail": None, "n": 10})
    assert SECRET not in tail.raw


def test_what_cannot_be_shown_masked_is_not_shown(side_api: ApiProcess, side: Topics) -> None:
    make_pipes(side_api, "two", "two.p", masks=MASKS)
    with Tail(side_api, "two", "two.p").started() as tail:
        headers = outbound_headers("two.p", 1, hifi_tenant="two")
        side.put(Topic.OUTBOUND, b'{"email":"ann@example.com"', headers, b"k")
        put_event(side, "two", "two.p", 2, {"email": SECRET, "x": SECRET * 5_000})
        side.flush()
        broken, large = by_id(tail.next_of("event"), tail.next_of("event"))
    assert (broken["event"], broken["problem"]["detail"].split(":")[0]) == (None, "mask_failed")
    assert (large["id"], large["event"], large["problem"]["detail"][:9]) == ("e2", None, "too large")
    assert SECRET not in tail.raw


def test_masks_that_change_meanwhile_apply_within_seconds(side_api: ApiProcess, side: Topics) -> None:
    make_pipes(side_api, "three", "three.p")
    with Tail(side_api, "three", "three.p").started() as tail:
        make_pipes(side_api, "three", "three.p", masks=MASKS)

        def masked() -> bool:
            put_event(side, "three", "three.p", 1, {"email": SECRET})
            side.flush()
            return bool(tail.next_of("event")["event"]["data"]["email"] == "***")

        eventually(masked, 60, every=0.3)


def test_it_ends_when_its_token_is_revoked_or_expires_or_its_pipe_is_deleted(side_api: ApiProcess) -> None:
    make_pipes(side_api, "four", "four.p")
    asked = {"role": "viewer", "label": "x"}
    made = side_api.ask("POST", "/v1/tenants/four/tokens", asked).json
    short = side_api.token("four", "viewer", days=1)
    with (
        Tail(side_api, "four", "four.p", made["token"]) as revoked,
        Tail(side_api, "four", "four.p", short) as expired,
        Tail(side_api, "four", "four.p") as deleted,
    ):
        assert side_api.ask("DELETE", f"/v1/tenants/four/tokens/{made['id']}").status == 204
        assert revoked.next_of("end") == {"reason": "token"}
        assert revoked.next() == ("", None)
        end_now(side_api, short)
        assert expired.next_of("end") == {"reason": "token"}
        assert side_api.ask("DELETE", "/v1/tenants/four/pipes/four.p", headers=ANY).status == 204
        assert deleted.next_of("end") == {"reason": "pipe"}
    eventually(lambda: open_tails(side_api) == 0, 60)


def test_more_events_than_its_rate_are_counted_not_shown(side_api: ApiProcess, side: Topics) -> None:
    make_pipes(side_api, "five", "five.p")
    with Tail(side_api, "five", "five.p").started() as tail:
        for number in range(300):
            put_event(side, "five", "five.p", number)
        side.flush()
        shown, left_out = 0, 0
        while shown + left_out < 300:
            name, data = tail.next()
            shown += name == "event"
            left_out = data["events"] if name == "left_out" else left_out
    assert shown + left_out == 300
    assert 1 <= shown <= 100


def test_readers_that_vanish_leave_no_consumer_and_no_thread(side_api: ApiProcess, side: Topics) -> None:
    make_pipes(side_api, "six", "six.p")
    for _ in range(3):
        tails = [Tail(side_api, "six", "six.p").started() for _ in range(2)]
        eventually(lambda: open_tails(side_api) == 2, what="those of former tests have ended")
        eventually(lambda: consumers(side_api) == 1, what="so have their consumers")
        with Tail(side_api, "six", "six.p").started():
            assert consumers(side_api) == 1, "all share one consumer"
        for tail in tails:
            tail.__exit__()
        eventually(lambda: open_tails(side_api) == 0, 60, "no tail is open")
        eventually(lambda: threads(side_api, "rdk:") == 0, 60, "the consumer has ended")


def test_a_tenant_has_three_tails_and_a_process_twenty(side_api: ApiProcess) -> None:
    eventually(lambda: open_tails(side_api) == 0, what="those of former tests have ended")
    with ExitStack() as opened:
        for tenant in range(7):
            make_pipes(side_api, f"many{tenant}", f"many{tenant}.p")
            for _ in range(3 if tenant < 6 else 2):
                tail = opened.enter_context(Tail(side_api, f"many{tenant}", f"many{tenant}.p"))
                assert tail.status == 200
        more = opened.enter_context(Tail(side_api, "many0", "many0.p"))
        assert (more.status, more.headers["retry-after"]) == (429, "5")
        assert opened.enter_context(Tail(side_api, "many6", "many6.p")).status == 503
    eventually(lambda: open_tails(side_api) == 0, 60)


def test_what_is_not_there_and_a_server_without_brokers_are_refused(
    api: ApiProcess, side_api: ApiProcess
) -> None:
    make_pipes(api, "seven", "seven.p")
    refused = api.ask("GET", "/v1/tenants/seven/pipes/seven.p/tail")
    assert (refused.status, "HIFI_BOOTSTRAP" in refused.text) == (503, True)
    assert side_api.ask("GET", "/v1/tenants/seven/pipes/none/tail").status == 404


@pytest.mark.proof
def test_a_reader_that_stalls_is_dropped(side_api: ApiProcess, side: Topics) -> None:
    make_pipes(side_api, "eight", "eight.p")
    stalled = Tail(side_api, "eight", "eight.p").started()

    def dropped() -> bool:
        for number in range(10):
            put_event(side, "eight", "eight.p", number, {"x": "x" * 60_000})
        side.flush()
        return open_tails(side_api) == 0

    eventually(dropped, 120, every=1)
    with pytest.raises((OSError, http.client.HTTPException)):
        while stalled.next()[0]:
            pass
        raise http.client.IncompleteRead(b"")
    assert "Exception in ASGI" not in side_api.log.read_text()


@pytest.mark.proof
def test_a_server_that_stops_ends_its_tails_and_itself(side_api: ApiProcess) -> None:
    make_pipes(side_api, "nine", "nine.p")
    with Tail(side_api, "nine", "nine.p").started() as tail:
        assert side_api.stop() == 0
        with suppress(OSError, http.client.HTTPException):
            while tail.next()[0]:
                pass
    side_api.restart()
    eventually(side_api.ready, START_SECONDS)
    with Tail(side_api, "nine", "nine.p").started():
        assert open_tails(side_api) == 1
