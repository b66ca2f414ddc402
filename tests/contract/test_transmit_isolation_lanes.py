"""Events move between fast and slow lane by rule, and none is lost, on real sockets."""

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from pipelines.data.transmit.connectors.http.client import DRAIN_SECONDS
from pipelines.data.transmit.delivery.kafka_rows import Row
from pipelines.data.transmit.delivery.timeout import WaitLimits
from shared.contracts import headers as h
from shared.contracts.documents import Limits
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.runtime.clock import wall_clock
from tests.contract.lanes import PATIENCE, asked, ids, late
from tests.contract.transmit_rig import AMPLE, Rig, header, receipts, records
from tests.harness.scripted_server import reply
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

SLOW = 0.3
"""Seconds."""


@pytest.fixture
def lasting() -> Iterator[Rig]:
    """The fast lane, which waits for every answer; destinations that take more than SLOW leave it."""
    found = Rig(lane="fast", patience=AMPLE, slow=SLOW)
    yield found
    found.close()


@pytest.mark.parametrize("seconds", [pytest.param(30.0, marks=pytest.mark.proof), 60.0])
def test_the_fast_lane_waits_once_and_then_hands_on_at_once(patient: Rig, seconds: float) -> None:
    late(patient, "/late", seconds)
    patient.server.answer("/", reply(200))
    patient.pipe("late", "/late")
    patient.pipe("fine", "/")
    rows = patient.deliver(flat_batch([row(1, pipe="late"), row(2, pipe="fine")]))
    assert PATIENCE <= patient.seconds < seconds
    (moved,) = records(rows)
    assert (moved.topic, moved.key, moved.value) == (Topic.OUTBOUND_SLOW, row(1)["key"], row(1)["value"])
    assert dict(moved.headers)[h.ATTEMPT] == b"1"
    assert abs(int(dict(moved.headers)[h.FIRST_TRY] or b"") - wall_clock()) < 60_000
    assert [(r.pipe, r.result) for r in receipts(rows)] == [
        ("fine", "delivered")
    ]  # the other one has no receipt yet

    rows = patient.deliver(flat_batch([row(n, pipe="late") for n in range(3, 9)] + [row(9, pipe="fine")]))
    assert patient.seconds < seconds
    assert ids(rows, Topic.OUTBOUND_SLOW) == [f"e{n}" for n in range(3, 9)]
    assert h.FIRST_TRY not in dict(records(rows)[0].headers)  # these were not tried
    assert asked(patient)["/late"] == 1


def test_a_status_in_time_counts_although_the_body_does_not_end_in_time(patient: Rig) -> None:
    async def never_end(_: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(PATIENCE - 0.8 * DRAIN_SECONDS)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")

    patient.server.manners["/"] = never_end
    patient.pipe("p1", "/")
    rows = patient.deliver(flat_batch([row(1)]))
    assert [(r.result, r.tries) for r in receipts(rows)] == [("delivered", 1)]
    assert not records(rows), "sent a second time by the slow lane"
    patient.wait_disconnected()


def test_a_destination_that_is_always_a_little_slow_leaves_the_fast_lane_too(lasting: Rig) -> None:
    late(lasting, "/", 2.5 * SLOW)  # transmit counts less of it while the machine stalls
    lasting.pipe("p1", "/", max_events=1)
    lasting.deliver(flat_batch([row(1)]))
    for n in range(1, 12):
        before = asked(lasting)["/"]
        rows = lasting.deliver(flat_batch([row(10 * n), row(10 * n + 1)]))
    assert ids(rows, Topic.OUTBOUND_SLOW) == ["e110", "e111"]
    assert before == asked(lasting)["/"], "handed on without a request"
    assert 3 <= before <= 20, "not for a single request"


def test_nothing_is_lost_at_the_move(fast: Rig) -> None:
    late(fast, "/", 0.7)
    fast.pipe("p1", "/", max_events=1)
    rows = fast.deliver(flat_batch([row(n) for n in range(50)]))
    arrived = sorted(i for r in receipts(rows) if r.result == "delivered" for i in r.ids)
    assert sorted(arrived + ids(rows, Topic.OUTBOUND_SLOW)) == sorted(f"e{n}" for n in range(50))


def test_a_backlog_that_a_destination_takes_quickly_stays_in_the_fast_lane(patient: Rig) -> None:
    patient.wait_limits = WaitLimits(answer=AMPLE, turn=AMPLE)
    late(patient, "/", 0.05)
    patient.pipe("p1", "/", max_events=1)
    rows = patient.deliver(flat_batch([row(n) for n in range(60)]))
    assert patient.seconds > 0.7  # 60 requests, four at a time
    assert not records(rows)


def test_events_without_a_slot_in_time_go_to_the_slow_lane(fast: Rig) -> None:
    fast.wait_limits = WaitLimits(answer=AMPLE, turn=1.0)
    late(fast, "/", 0.15)
    fast.pipe("p1", "/", max_events=1, limits=Limits(requests=1))
    rows = fast.deliver(flat_batch([row(n) for n in range(30)]))
    assert fast.seconds >= 1.0
    assert len(ids(rows, Topic.OUTBOUND_SLOW)) + len(receipts(rows)) == 30
    assert 1 <= len(fast.server.bodies) == len(receipts(rows)) < 30, "one after the other"


def test_events_beyond_the_rate_go_to_the_slow_lane_at_once(fast: Rig) -> None:
    fast.server.answer("/", reply(200))
    fast.pipe("p1", "/", max_events=10, limits=Limits(rate=50))
    rows = fast.deliver(flat_batch([row(n) for n in range(200)]))
    moved = ids(rows, Topic.OUTBOUND_SLOW)
    assert moved, "at the rate, they take three seconds"
    assert len(moved) + sum(len(r.ids) for r in receipts(rows)) == 200


def test_the_slow_lane_keeps_the_rate_and_the_number_of_requests(slow: Rig) -> None:
    busy = most = 0
    full = asyncio.Event()

    async def count(_: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal busy, most
        busy, most = busy + 1, max(most, busy + 1)
        if busy == 3:
            full.set()
        await full.wait()
        await asyncio.sleep(0.02)
        busy -= 1
        writer.write(reply(200))

    slow.server.manners["/"] = count
    slow.pipe("p1", "/", max_events=5, limits=Limits(requests=3, rate=100))
    rows = slow.deliver(flat_batch([row(n) for n in range(200)]))
    assert {r.result for r in receipts(rows)} == {"delivered"}
    assert most == 3
    assert 0.9 <= slow.seconds < AMPLE / 2


def test_events_beyond_the_rate_come_back_one_request_after_the_other_and_lose_no_attempt(slow: Rig) -> None:
    slow.server.answer("/", reply(200))
    slow.pipe("p1", "/", max_events=10, limits=Limits(rate=0.01))
    rows = slow.deliver(flat_batch([row(n, attempt=2) for n in range(30)]))
    assert sum(r.result == "delivered" for r in receipts(rows)) == 1
    waiting = [dict(each.headers) for each in records(rows)]
    assert {found[h.ATTEMPT] for found in waiting} == {b"1"}
    first, last = (function(int(found[h.NOT_BEFORE] or b"") for found in waiting) for function in (min, max))
    assert 950_000 <= last - first <= 1_050_000, "ten events every 1,000 seconds"


def test_one_that_gets_more_than_it_takes_holds_up_the_slow_lane_no_longer_than_its_turn(slow: Rig) -> None:
    slow.wait_limits = WaitLimits(behind=0.5)
    late(slow, "/busy", 0.1)
    slow.server.answer("/", reply(200))
    slow.pipe("busy", "/busy", max_events=1, limits=Limits(requests=1))
    slow.pipe("fine", "/")
    for first in (0, 1_000, 2_000):
        busy = [row(first + n, pipe="busy") for n in range(500)]
        rows = slow.deliver(flat_batch([*busy, row(first + 500, pipe="fine")]))
        assert slow.seconds < AMPLE / 4, "all of it takes 50 s"
        sent = [name for each in receipts(rows) if each.result == "delivered" for name in each.ids]
        waiting = [each for each in records(rows) if each.topic in RETRY_DELAYS]
        assert len(sent) + len(waiting) == 501
        assert f"e{first + 500}" in sent
        assert {header(each.headers, h.ATTEMPT) for each in waiting} == {"0"}
        assert {header(each.headers, h.REASON).partition(":")[0] for each in waiting} == {"deadline"}


def test_nothing_is_sent_that_could_not_be_answered_before_the_deadline(slow: Rig) -> None:
    async def answer_late(_: bytes, writer: asyncio.StreamWriter) -> None:
        slow.let_pass(AMPLE - 0.7)
        writer.write(reply(200))

    slow.server.manners["/"] = answer_late
    slow.pipe("p1", "/", max_events=1, limits=Limits(requests=1))
    rows = slow.deliver(flat_batch([row(1), row(2)]), deadline=AMPLE)
    assert len(slow.server.bodies) == 1
    assert [header(each.headers, h.ATTEMPT) for each in records(rows)][-1] == "0"


def test_a_slow_destination_gets_no_request_that_it_usually_answers_too_late(slow: Rig) -> None:
    deadline = 6.0
    late(slow, "/", 0.35 * deadline)
    slow.pipe("p1", "/", max_events=1, limits=Limits(requests=1))
    rows = slow.deliver(flat_batch([row(1), row(2), row(3)]), deadline=deadline)
    assert len(slow.server.bodies) == 2
    assert [r.result for r in receipts(rows)] == ["delivered", "delivered", "retry"]
    assert [header(each.headers, h.ATTEMPT) for each in records(rows)] == ["0"]
    assert {r.breaker for r in receipts(rows)} == {"closed"}


def test_requests_cut_short_by_the_deadline_open_no_breaker_and_are_no_attempts(slow: Rig) -> None:
    answered = asyncio.Event()

    async def answer_eight(_: bytes, writer: asyncio.StreamWriter) -> None:
        if len(slow.server.bodies) == 8:
            slow.let_pass(0.3 * AMPLE)
            answered.set()
        if len(slow.server.bodies) == 16:
            slow.let_pass(AMPLE)
        if len(slow.server.bodies) <= 8:
            await answered.wait()
            writer.write(reply(200))

    slow.server.manners["/"] = answer_eight
    slow.pipe("p1", "/", max_events=1, limits=Limits(requests=8))
    rows = slow.deliver(flat_batch([row(n) for n in range(16)]), deadline=AMPLE)
    assert len(slow.server.bodies) == 16
    assert [header(each.headers, h.ATTEMPT) for each in records(rows)] == ["0"] * 8
    assert {r.breaker for r in receipts(rows)} == {"closed"}


def test_requests_with_all_the_time_of_a_micro_batch_open_the_breaker_and_are_attempts(slow: Rig) -> None:
    async def hang(_: bytes, writer: asyncio.StreamWriter) -> None:
        if len(slow.server.bodies) == 8:
            slow.let_pass(AMPLE)

    slow.server.manners["/"] = hang
    slow.pipe("p1", "/", max_events=1, limits=Limits(requests=8))
    rows = slow.deliver(flat_batch([row(n) for n in range(8)]), deadline=AMPLE)
    assert [header(each.headers, h.ATTEMPT) for each in records(rows)] == ["1"] * 8
    assert "open" in {r.breaker for r in receipts(rows)}


def test_the_slow_lane_sends_what_was_throttled_when_the_second_is_over(fast: Rig, slow: Rig) -> None:
    fast.pause_limit = slow.pause_limit = 1.0
    fast.server.answer("/", reply(429, "Retry-After: 1\r\n"))
    fast.pipe("p1", "/")
    (moved,) = records(fast.deliver(flat_batch([row(1)])))
    assert (moved.topic, header(moved.headers, h.ATTEMPT)) == (Topic.OUTBOUND_SLOW, "1")
    assert len(fast.server.bodies) == 1
    assert not fast.gate("t", "p1").moved, "the destination itself is not slow"

    arrived: list[int] = []

    async def arrive(_: bytes, writer: asyncio.StreamWriter) -> None:
        arrived.append(wall_clock())
        writer.write(reply(200))

    slow.server.manners["/"] = arrive
    slow.pipe("p1", "/")
    (receipt,) = receipts(slow.deliver(flat_batch([again(moved)])))
    assert (receipt.result, receipt.attempt) == ("delivered", 1)
    assert arrived[0] >= int(header(moved.headers, h.NOT_BEFORE))


def again(moved: Row) -> dict[str, object]:
    """A record written by the fast lane, as the slow lane reads it."""
    texts = {name: (value or b"").decode() for name, value in moved.headers}
    return row(1, key=moved.key, value=moved.value, headers=msgspec.json.encode(texts), topic=moved.topic)


def test_a_copy_in_the_same_batch_says_too_that_a_destination_is_quick_again(slow: Rig) -> None:
    slow.server.answer("/", reply(400))
    slow.pipe("p1", "/")
    for n in range(5):
        slow.deliver(flat_batch([row(n)]))
    rows = slow.deliver(flat_batch([row(9), row(9, attempt=2)]))
    said = [dict(each.headers).get(h.RECOVERED) for each in rows if each.topic == Topic.RECEIPTS]
    assert said == [b"t/p1", b"t/p1"]


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
    assert said == [None] * 4 + [b"t/p1"] * 2

    late(fast, "/", 60.0)
    fast.pipe("p1", "/")
    fast.deliver(flat_batch([row(1)]))
    fast.server.answer("/", reply(200))
    fast.wait_limits = WaitLimits(answer=AMPLE, turn=AMPLE)
    moved_ms = fast.gate("t", "p1").pace.since_ms
    too_early, of_another = (("t", "p1"), moved_ms + 9_000), (("other", "p1"), moved_ms + 10_000)
    fast.admission.note_recovered([too_early, of_another])
    assert ids(fast.deliver(flat_batch([row(2)])), Topic.OUTBOUND_SLOW) == ["e2"]
    fast.admission.note_recovered([(("t", "p1"), moved_ms + 10_000)])
    assert [r.result for r in receipts(fast.deliver(flat_batch([row(3)])))] == ["delivered"]


def test_a_destination_with_few_events_returns_although_each_finds_a_new_process_of_the_slow_lane(
    fast: Rig,
) -> None:
    late(fast, "/", 60.0)
    fast.pipe("p1", "/")
    assert ids(fast.deliver(flat_batch([row(0)])), Topic.OUTBOUND_SLOW) == ["e0"]
    fast.server.answer("/", reply(200))
    fast.wait_limits = WaitLimits(answer=AMPLE, turn=AMPLE)
    by_the_slow_lane = []
    for n in range(1, 5):
        fast.let_gates_wait(120)
        rows = fast.deliver(flat_batch([row(n)]))
        by_the_slow_lane += ids(rows, Topic.OUTBOUND_SLOW)
        for moved in records(rows):
            assert said_by_a_new_slow_lane(moved) == [None], "after one request it has nothing to say"
    assert by_the_slow_lane == ["e1", "e2"], "five minutes, and it is forgiven"


def said_by_a_new_slow_lane(moved: Row) -> list[bytes | None]:
    """A header of each receipt that a new slow lane writes for a record of the fast lane."""
    rig = Rig(lane="slow")
    try:
        rig.server.answer("/", reply(200))
        rig.pipe("p1", "/")
        rows = rig.deliver(flat_batch([again(moved)]))
        return [dict(each.headers).get(h.RECOVERED) for each in rows if each.topic == Topic.RECEIPTS]
    finally:
        rig.close()


def test_a_destination_that_is_still_slow_gets_one_request_and_its_other_events_move_at_once(
    fast: Rig,
) -> None:
    late(fast, "/", 60.0)
    fast.pipe("p1", "/", max_events=1)
    fast.deliver(flat_batch([row(0)]))
    requests = []
    for n in range(1, 5):
        fast.let_gates_wait(301)
        rows = fast.deliver(flat_batch([row(10 * n + at) for at in range(6)]))
        assert len(ids(rows, Topic.OUTBOUND_SLOW)) == 6
        requests.append(asked(fast)["/"])
    assert requests == [2, 2, 3, 3], "after 5 minutes, and then after 10 more"
