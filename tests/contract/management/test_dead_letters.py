"""Dead letters over HTTP: pages, single letters, and replay."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from shared.contracts import headers as h
from shared.contracts.topics import KEPT, Topic
from shared.dead_letters.dead_letter import Filter
from shared.dead_letters.search import Bounds, Position, search
from shared.dead_letters.store import DeadLetterStore
from shared.runtime.clock import wall_clock
from tests.contract.management.api_process import ANY, ApiProcess
from tests.contract.management.side_records import REFUSED, make_pipes, put_letter, put_letters
from tests.harness.topics import Topics

HOUR_MS = 3_600_000
SECRET = "ann@example.com"
MASKS = [{"path": "$.data.email", "action": "redact"}, {"path": "$.subject", "action": "hash"}]


@pytest.fixture
def side(topics: str) -> Topics:
    return Topics(topics)


def listed(api: ApiProcess, tenant: str, query: str = "") -> list[Any]:
    """All letters of a list, read in pages of two."""
    found: list[Any] = []
    cursor = ""
    while True:
        page = api.ask("GET", f"/v1/tenants/{tenant}/dead-letters?limit=2&{query}{cursor}").json
        found += page["items"]
        assert len(page["items"]) <= 2
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def ids(found: list[Any]) -> list[str]:
    return [each["id"] for each in found]


def outbound(side: Topics) -> list[str]:
    """Event ids on `outbound`, in any order."""
    return sorted(dict(m.headers() or [])[h.CE_ID].decode() for m in side.all_of(Topic.OUTBOUND))  # type: ignore[union-attr]


def test_a_tenants_letters_are_listed_newest_first_in_pages_without_their_data(
    side_api: ApiProcess, side: Topics
) -> None:
    make_pipes(side_api, "one", "one.p", "one.q")
    put_letters(side, "one", "one.p", range(3), ce_subject=SECRET)
    put_letters(side, "other", "one.p", range(3, 6), **{h.DESTINATION: "one.d"})
    put_letters(side, "one", "one.q", range(6, 8), **{h.REASON: "time_over: no answer", h.DESTINATION: "x"})
    found = listed(side_api, "one")
    assert ids(found) == ["e7", "e6", "e2", "e1", "e0"]
    assert (found[2]["pipe"], found[2]["destination"], found[2]["reason"]) == ("one.p", "one.d", REFUSED)
    assert (found[2]["status"], found[2]["replayed_ms"], found[2]["type"]) == (404, None, "t")
    assert SECRET not in str(found)
    assert ids(listed(side_api, "one", "pipe=one.p")) == ids(listed(side_api, "one", "destination=one.d"))
    assert ids(listed(side_api, "one", "reason=TIME_over")) == ["e7", "e6"]
    assert ids(listed(side_api, "one", "since=2026-01-01T00:00:00Z&until=2126-01-01T00:00:00Z")) == ids(found)
    assert listed(side_api, "one", "until=2026-01-01T00:00:00Z") == []
    refused = side_api.ask("GET", "/v1/tenants/one/dead-letters?since=soon")
    assert (refused.status, refused.json["errors"][0]["pointer"]) == (422, "/since")
    assert side_api.ask("GET", "/v1/tenants/one/dead-letters?cursor=AAAA").status == 400


def test_a_letter_is_shown_as_its_pipe_would_send_it_now(side_api: ApiProcess, side: Topics) -> None:
    make_pipes(side_api, "two", "two.p", masks=MASKS)
    put_letters(side, "two", "two.p", range(1), ce_subject=SECRET)
    put_letters(side, "other", "two.p", range(1))
    path = f"/v1/tenants/two/dead-letters/{listed(side_api, 'two')[0]['letter']}"
    viewer = side_api.token("two", "viewer")
    answer = side_api.ask("GET", path, token=viewer)
    assert (answer.json["event"]["data"]["email"], answer.json["problem"]) == ("***", None)
    assert '"big":12345678901234567890.10' in answer.text, "the data's own bytes"
    assert (SECRET in answer.text, len(answer.json["event"]["subject"])) == (False, 64)
    theirs = listed(side_api, "other")[0]["letter"]
    assert side_api.ask("GET", f"/v1/tenants/two/dead-letters/{theirs}", token=viewer).status == 404
    assert side_api.ask("GET", "/v1/tenants/two/dead-letters/0/999999").status == 404

    make_pipes(side_api, "two", "two.p", transform="data.nothing")
    failed = side_api.ask("GET", path)
    assert (failed.json["event"], "transform_failed" in failed.json["problem"]["detail"]) == (None, True)
    assert side_api.ask("DELETE", "/v1/tenants/two/pipes/two.p", headers=ANY).status == 204
    gone = side_api.ask("GET", path)
    assert (gone.json["event"], SECRET in failed.text + gone.text) == (None, False)


def test_a_replay_puts_each_letter_on_outbound_once_however_often_it_is_asked(
    side_api: ApiProcess, side: Topics
) -> None:
    make_pipes(side_api, "three", "three.p", "three.q")
    put_letters(side, "three", "three.p", range(5))
    put_letters(side, "three", "three.q", range(5, 7))
    put_letters(side, "other", "three.p", range(7, 8))
    path = "/v1/tenants/three/dead-letters/replay"
    editor = side_api.token("three", "editor")
    asked = {"filter": {"pipe": "three.p"}}
    dry = side_api.ask("POST", f"{path}?dry_run=true", asked, token=editor).json
    assert (dry["dry_run"], dry["matching"], dry["replayed"], outbound(side)) == (True, 5, 0, [])
    with ThreadPoolExecutor(2) as both:
        done = list(both.map(lambda _: side_api.ask("POST", path, asked, token=editor), range(2)))
    assert sorted(each.json["replayed"] for each in done) == [0, 5], [each.text for each in done]
    assert outbound(side) == ["e0", "e1", "e2", "e3", "e4"]
    assert ids(listed(side_api, "three")) == ["e6", "e5"]
    assert len(listed(side_api, "three", "all=true")) == 7

    theirs = listed(side_api, "other")[0]["letter"]
    one = [listed(side_api, "three")[1]["letter"], theirs]
    replay = side_api.ask("POST", path, {"letters": one}, token=editor).json
    assert (replay["matching"], replay["replayed"], replay["next"]) == (1, 1, None)
    again = side_api.ask("POST", path, {"letters": one}, token=editor).json
    assert (again["matching"], again["replayed_before"], again["replayed"]) == (0, 1, 0)
    assert outbound(side) == ["e0", "e1", "e2", "e3", "e4", "e5"]
    rows = side_api.ask("GET", "/v1/tenants/three/audit").json["items"]
    said = [row["detail"] for row in rows if row["path"].endswith("/replay")]
    assert sorted(said)[-2:] == ["1 replayed, 0 replayed before", "5 replayed, 0 replayed before"]
    assert len(said) == 4, "a dry run is not audited"


def test_a_replay_is_bounded_and_goes_on_where_it_ended(side_api: ApiProcess, side: Topics) -> None:
    make_pipes(side_api, "four", "four.p")
    put_letters(side, "four", "four.p", range(5))
    path = "/v1/tenants/four/dead-letters/replay"
    first = side_api.ask("POST", path, {"filter": {}, "limit": 3}).json
    assert (first["replayed"], outbound(side)) == (3, ["e2", "e3", "e4"])
    second = side_api.ask("POST", path, {"filter": {}, "limit": 3, "cursor": first["next"]}).json
    assert (second["replayed"], second["next"], len(outbound(side))) == (2, None, 5)
    for wrong in ({}, {"letters": ["x"]}, {"filter": {}, "letters": ["0/1"]}, {"filter": {"pip": "x"}}):
        assert side_api.ask("POST", path, wrong).status == 422, wrong
    viewer = side_api.token("four", "viewer")
    assert side_api.ask("POST", path, {"filter": {}}, token=viewer).status == 403


def test_a_search_ends_after_so_many_records_and_goes_on(topics: str, side: Topics) -> None:
    put_letters(side, "a", "a.p", range(1))
    put_letters(side, "b", "b.p", range(1, 200))
    bounds = Bounds(letters=10, records=150, seconds=60)
    with DeadLetterStore(topics, {}, wall_clock) as store:
        first = search(store, Filter(tenant="a"), {}, bounds, frozenset())
        assert (first.letters, first.cut) == ([], True)
        assert first.following is not None
        second = search(store, Filter(tenant="a"), first.following, bounds, frozenset())
    assert ([each.event_id for each in second.letters], second.following) == (["e0"], None)


def test_a_search_that_is_out_of_time_gives_what_it_has_read_and_goes_on_to_the_end(
    topics: str, side: Topics
) -> None:
    put_letters(side, "slow", "slow.p", range(300))
    bounds = Bounds(letters=1_000, records=100_000, seconds=0)
    found: list[str] = []
    pages = 0
    position: Position | None = {}
    with DeadLetterStore(topics, {}, wall_clock) as store:
        records, partitions = sum(span.records for span in store.spans), len(store.spans)
        while position is not None:
            page = search(store, Filter(tenant="slow"), position, bounds, frozenset())
            found += [each.event_id for each in page.letters]
            pages, position = pages + 1, page.following
            assert page.cut == (position is not None)
    assert found == [f"e{number}" for number in reversed(range(300))]
    assert pages <= records / 64 + partitions + 1, "each page has what was read for it"


def test_letters_older_than_they_are_kept_do_not_count_although_the_topic_has_them(
    topics: str, side: Topics
) -> None:
    now = wall_clock()
    kept_ms = KEPT // timedelta(milliseconds=1)
    for number, age_ms in enumerate((HOUR_MS, 0, HOUR_MS)):
        put_letter(side, "old", "old.p", number, now - age_ms)
    side.flush()
    bounds = Bounds(letters=10, records=1_000, seconds=60)
    with DeadLetterStore(topics, {}, lambda: now + kept_ms) as store:
        found = [each.event_id for each in store.letters(Filter(tenant="old"))]
        page = search(store, Filter(tenant="old"), {}, bounds, frozenset())
    assert (found, [each.event_id for each in page.letters]) == (["e1"], ["e1"])
    with DeadLetterStore(topics, {}, lambda: now) as store:
        assert len(list(store.letters(Filter(tenant="old")))) == 3


def test_a_server_without_brokers_says_so(api: ApiProcess) -> None:
    refused = api.ask("GET", "/v1/tenants/five/dead-letters")
    assert (refused.status, "HIFI_BOOTSTRAP" in refused.text) == (503, True)
