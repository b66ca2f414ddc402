"""The cost of a bad destination for the others and for itself, on real sockets."""

import asyncio
import json
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator

import psutil
import pytest

from pipelines.data.transmit.delivery.kafka_rows import Row
from shared.contracts import headers as h
from shared.contracts.documents import Limits
from shared.contracts.topics import Topic
from shared.runtime.clock import wall_clock
from tests.contract.transmit_rig import Rig, receipts, records
from tests.harness.scripted_server import reply
from tests.harness.waiting import free_port
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row


@pytest.fixture
def fast() -> Iterator[Rig]:
    """The fast lane, which waits 0.5 s for an answer and 1 s for a slot."""
    found = Rig(lane="fast")
    yield found
    found.close()


PATIENCE = 2.0
"""More than the good destinations, in this process, need on a busy machine."""


@pytest.fixture
def patient() -> Iterator[Rig]:
    """The fast lane, which waits PATIENCE for an answer."""
    found = Rig(lane="fast", patience=PATIENCE)
    yield found
    found.close()


@pytest.fixture
def slow() -> Iterator[Rig]:
    found = Rig(lane="slow")
    yield found
    found.close()


def late(rig: Rig, path: str, seconds: float, status: int = 200) -> None:
    """Let a path answer after some seconds."""

    async def manner(_: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        writer.write(reply(status))

    rig.server.manners[path] = manner


def asked(rig: Rig) -> Counter[str]:
    """Requests by path."""
    return Counter(head.split()[1].decode() for head in rig.server.heads)


def ids(rows: list[Row], topic: Topic) -> list[str]:
    """Ids of the records on their way to a topic."""
    return sorted((dict(r.headers)[h.CE_ID] or b"").decode() for r in rows if r.topic == topic)


@pytest.mark.parametrize("seconds", [3.0, 60.0])
def test_the_fast_lane_waits_once_and_then_hands_on_at_once(fast: Rig, seconds: float) -> None:
    late(fast, "/late", seconds)
    fast.server.answer("/", reply(200))
    fast.pipe("late", "/late")
    fast.pipe("fine", "/")
    rows = fast.deliver(flat_batch([row(1, pipe="late"), row(2, pipe="fine")]))
    assert 0.5 <= fast.seconds < 1.0
    (moved,) = records(rows)
    assert (moved.topic, moved.key, moved.value) == (Topic.OUTBOUND_SLOW, row(1)["key"], row(1)["value"])
    assert dict(moved.headers)[h.ATTEMPT] == b"1"
    assert abs(int(dict(moved.headers)[h.FIRST_TRY] or b"") - wall_clock()) < 5_000
    assert [(r.pipe, r.result) for r in receipts(rows)] == [
        ("fine", "delivered")
    ]  # the other has no receipt yet

    rows = fast.deliver(flat_batch([row(n, pipe="late") for n in range(3, 9)] + [row(9, pipe="fine")]))
    assert fast.seconds < 0.3
    assert ids(rows, Topic.OUTBOUND_SLOW) == [f"e{n}" for n in range(3, 9)]
    assert h.FIRST_TRY not in dict(records(rows)[0].headers)  # these were not tried
    assert asked(fast)["/late"] == 1


def test_a_destination_that_is_always_a_little_slow_leaves_the_fast_lane_too(fast: Rig) -> None:
    late(fast, "/", 0.45)
    fast.pipe("p1", "/", max_events=1)
    for n in range(12):
        fast.deliver(flat_batch([row(10 * n), row(10 * n + 1)]))
    assert fast.seconds < 0.3
    assert 8 <= asked(fast)["/"] <= 20


def test_nothing_is_lost_at_the_move(fast: Rig) -> None:
    late(fast, "/", 0.7)
    fast.pipe("p1", "/", max_events=1)
    rows = fast.deliver(flat_batch([row(n) for n in range(50)]))
    arrived = sorted(i for r in receipts(rows) if r.result == "delivered" for i in r.ids)
    assert sorted(arrived + ids(rows, Topic.OUTBOUND_SLOW)) == sorted(f"e{n}" for n in range(50))


def test_a_backlog_that_a_destination_takes_quickly_stays_in_the_fast_lane(fast: Rig) -> None:
    late(fast, "/", 0.05)
    fast.pipe("p1", "/", max_events=1)
    rows = fast.deliver(flat_batch([row(n) for n in range(60)]))
    assert fast.seconds > 0.7  # 60 requests, four at a time
    assert not records(rows)


def test_what_finds_no_slot_in_time_is_handed_on(fast: Rig) -> None:
    late(fast, "/", 0.15)
    fast.pipe("p1", "/", max_events=1, limits=Limits(requests=1))
    rows = fast.deliver(flat_batch([row(n) for n in range(30)]))
    assert 1.0 <= fast.seconds < 1.5
    assert len(ids(rows, Topic.OUTBOUND_SLOW)) + len(receipts(rows)) == 30
    assert len(fast.server.bodies) == len(receipts(rows)) >= 5


def test_what_the_rate_leaves_no_room_for_is_handed_on_at_once(fast: Rig) -> None:
    fast.server.answer("/", reply(200))
    fast.pipe("p1", "/", max_events=10, limits=Limits(rate=50))
    rows = fast.deliver(flat_batch([row(n) for n in range(200)]))
    assert fast.seconds < 1.0
    assert len(ids(rows, Topic.OUTBOUND_SLOW)) + sum(len(r.ids) for r in receipts(rows)) == 200


def test_the_slow_lane_keeps_the_rate_and_the_number_of_requests(slow: Rig) -> None:
    busy = most = 0

    async def count(_: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal busy, most
        busy, most = busy + 1, max(most, busy + 1)
        await asyncio.sleep(0.02)
        busy -= 1
        writer.write(reply(200))

    slow.server.manners["/"] = count
    slow.pipe("p1", "/", max_events=5, limits=Limits(requests=3, rate=100))
    rows = slow.deliver(flat_batch([row(n) for n in range(200)]))
    assert {r.result for r in receipts(rows)} == {"delivered"}
    assert most == 3
    assert 0.9 <= slow.seconds < 2.0


def test_a_failing_destination_is_left_alone_and_its_events_wait_in_the_retry_topics(fast: Rig) -> None:
    fast.server.answer("/", reply(503))
    fast.pipe("p1", "/")
    tries, attempts = [], []
    for n in range(5):
        rows = fast.deliver(flat_batch([row(n)]))
        tries.append(receipts(rows)[0].tries)
        assert [r.topic for r in records(rows)] == [Topic.RETRY_IN_30S]
        attempts.append(dict(records(rows)[0].headers)[h.ATTEMPT])
    assert tries == [3, 2, 0, 0, 0]
    assert attempts == [b"1", b"1", b"0", b"0", b"0"], "untried events lose no attempt"
    (receipt,) = receipts(rows)
    assert (receipt.result, receipt.breaker, receipt.lane) == ("retry", "open", "fast")
    assert receipt.reason.startswith("breaker_open: 'p1' ")


def test_refused_connections_open_the_breaker_and_refused_events_do_not(fast: Rig) -> None:
    fast.pipe("gone", "/", port=free_port())
    fast.server.answer("/", reply(400))
    fast.pipe("picky", "/")
    states: dict[str, str] = {}
    for n in range(8):
        rows = fast.deliver(flat_batch([row(n, pipe="gone"), row(100 + n, pipe="picky")]))
        states |= {r.destination: r.breaker for r in receipts(rows)}
    assert states == {"gone": "open", "picky": "closed"}


@pytest.mark.parametrize(("status", "requests", "result"), [(503, 1, "retry"), (200, 20, "delivered")])
def test_one_request_tests_the_destination_and_all_others_wait_for_what_it_says(
    fast: Rig, status: int, requests: int, result: str
) -> None:
    fast.server.answer("/", reply(503))
    fast.pipe("p1", "/", max_events=1)
    while asked(fast)["/"] < 5:
        fast.deliver(flat_batch([row(1)]))
    late(fast, "/", 0.1, status)
    before = asked(fast)["/"]
    time.sleep(0.4)  # its pause of 0.3 s
    rows = fast.deliver(flat_batch([row(n) for n in range(100, 120)]))
    assert asked(fast)["/"] - before == requests
    assert {r.result for r in receipts(rows)} == {result}
    assert len(rows) == (20 if result == "delivered" else 40)


def test_a_mended_document_is_tried_at_once(fast: Rig) -> None:
    fast.server.answer("/bad", reply(503))
    fast.server.answer("/good", reply(200))
    fast.pipe("p1", "/bad")
    for n in range(3):
        fast.deliver(flat_batch([row(n)]))
    fast.pipe("p1", "/good")
    assert [r.result for r in receipts(fast.deliver(flat_batch([row(9)])))] == ["delivered"]


def test_a_copy_in_the_same_batch_says_too_that_a_destination_is_quick_again(slow: Rig) -> None:
    slow.server.answer("/", reply(400))
    slow.pipe("p1", "/")
    for n in range(5):
        slow.deliver(flat_batch([row(n)]))
    rows = slow.deliver(flat_batch([row(9), row(9, attempt=2)]))
    said = [dict(each.headers).get(h.RECOVERED) for each in rows if each.topic == Topic.RECEIPTS]
    assert said == [b"p1", b"p1"]


def test_the_slow_lane_says_when_a_destination_is_quick_again_and_the_fast_lane_hears_it(
    fast: Rig, slow: Rig
) -> None:
    slow.server.answer("/", reply(200))
    slow.pipe("p1", "/")
    said = []
    for n in range(6):
        rows = slow.deliver(flat_batch([row(n)]))
        said.append(dict(rows[0].headers).get(h.RECOVERED))
        assert receipts(rows)[0].lane == ("slow" if n < 4 else "fast")
    assert said == [None] * 4 + [b"p1"] * 2

    late(fast, "/", 60.0)
    fast.pipe("p1", "/")
    fast.deliver(flat_batch([row(1)]))
    fast.server.answer("/", reply(200))
    fast.admission.note_recovered([("p1", wall_clock()), ("nobody", wall_clock())])  # its stay is not over
    assert ids(fast.deliver(flat_batch([row(2)])), Topic.OUTBOUND_SLOW) == ["e2"]
    fast.admission.note_recovered([("p1", wall_clock() + 10_000)])
    assert [r.result for r in receipts(fast.deliver(flat_batch([row(3)])))] == ["delivered"]


BAD = ("hangs", "late", "resets", "unavailable")
GOOD = tuple(f"good-{n}" for n in range(16))


def twenty(rig: Rig) -> None:
    """Sixteen destinations that answer after 0.1 s, and four bad ones."""

    async def reset(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    late(rig, "/hangs", 60.0)
    late(rig, "/late", 3.0)
    late(rig, "/", 0.1)
    rig.server.manners["/resets"] = reset
    rig.server.answer("/unavailable", reply(503))
    for name in BAD:
        rig.pipe(name, f"/{name}", max_events=2)
    for name in GOOD:
        rig.pipe(name, "/", max_events=2)


@pytest.mark.proof
def test_micro_batches_with_four_bad_destinations_take_no_longer_than_those_without(patient: Rig) -> None:
    twenty(patient)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    number = 0
    for turn in range(80):  # alternately, so that other load on the machine affects both alike
        bad = turn % 2 == 1
        pipes = (*GOOD, *BAD) if bad else GOOD
        rows = patient.deliver(flat_batch([row(number + n, pipe=p) for n, p in enumerate(pipes * 2)]))
        number += 2 * len(pipes)
        assert sum(len(r.ids) for r in receipts(rows) if r.destination in GOOD) == 2 * len(GOOD)
        seconds[bad].append(patient.seconds)
    learning = seconds[True][0]
    assert learning < 2 * PATIENCE, "one wait for all slow destinations together, not one for each"
    without, beside = (sorted(seconds[bad])[:-1] for bad in (False, True))  # each without its longest
    assert statistics.median(beside) <= 1.2 * statistics.median(without) + 0.02
    assert sum(x > PATIENCE for x in beside) <= sum(x > PATIENCE for x in without) + 1, (
        "good destinations wait for the bad ones"
    )


def test_four_bad_destinations_leave_no_task_no_thread_and_no_connection(fast: Rig) -> None:
    twenty(fast)
    number = 0

    def round_of_all() -> list[Row]:
        nonlocal number
        number += 100
        return fast.deliver(
            flat_batch([row(number + n, pipe=p) for n, p in enumerate((*BAD, "good-0") * 8)]),
        )

    round_of_all()
    threads, files = threading.active_count(), psutil.Process().num_fds()
    for _ in range(40):
        rows = round_of_all()
        assert sum(len(r.ids) for r in receipts(rows) if r.destination == "good-0") == 8
    assert json.loads(fast.server.bodies[-1])
    until = time.monotonic() + 5
    while fast.tasks() and time.monotonic() < until:
        time.sleep(0.02)
    assert fast.tasks() == 0
    assert threading.active_count() <= threads
    assert psutil.Process().num_fds() <= files + 8
    assert fast.connections() <= 2 * 4  # both ends of each are in this process
