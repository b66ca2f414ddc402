"""The gates of a process's destinations."""

import asyncio
from contextlib import AsyncExitStack

from pipelines.data.transmit.admission.gate import Admission, AdmissionPolicy, BreakerOpen, Moved, NoTurn
from pipelines.data.transmit.connectors.base import Answer
from shared.contracts.documents import Destination


def test_a_destination_in_use_keeps_its_gate_while_others_come_and_go() -> None:
    admission = Admission(AdmissionPolicy(lane="fast"), lambda: 0, lambda: 0.0)
    steady = Destination(name="steady", tenant="acme")
    gate = admission.of(steady)
    for number in range(25_000):
        admission.of(Destination(name=f"run-{number}", tenant="acme"))
        assert admission.of(steady) is gate


def test_a_tenant_without_a_share_left_gets_no_turn_and_another_gets_one_at_once() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        admission = Admission(AdmissionPolicy(lane="slow", requests=4), lambda: 0, loop.time)
        hanging, own, other = (
            admission.of(Destination(name=name, tenant=tenant))
            for name, tenant in (("hanging", "acme"), ("own", "acme"), ("other", "globex"))
        )
        async with AsyncExitStack() as held:
            for _ in range(2):  # half of all
                assert await held.enter_async_context(hanging.turn(1, loop.time() + 60, 0)) is None
            async with own.turn(1, loop.time() + 0.05, 0) as refusal:
                assert refusal == NoTurn()
            async with other.turn(1, loop.time() + 60, 0) as refusal:
                assert refusal is None
            assert own.breaker.state == "closed"
        async with own.turn(1, loop.time() + 60, 0) as refusal:
            assert refusal is None, "those that hung have ended"

    asyncio.run(run())


def test_slow_destinations_are_tried_one_at_a_time_and_rarely() -> None:
    seconds = 1_000.0

    async def run() -> None:
        nonlocal seconds
        loop = asyncio.get_running_loop()
        admission = Admission(AdmissionPolicy(lane="fast"), lambda: int(1000 * seconds), lambda: seconds)
        one, two = (admission.of(Destination(name=name, tenant="acme")) for name in ("one", "two"))
        for gate in (one, two):
            gate.overdue()
        seconds += 299
        assert one.moved
        assert two.moved
        seconds += 1
        until = loop.time() + 60
        async with one.turn(1, until, 0) as refusal, one.turn(1, until, 0) as second:
            assert (refusal, second) == (None, Moved())
            assert one.moved
            assert two.moved, "another destination's is under way"
            one.overdue()
        assert two.moved, "too soon after the one before"
        seconds += 10
        assert one.moved
        async with two.turn(1, until, 0) as refusal:
            assert refusal is None
            two.ended([Answer(status=200)], 0.1, 0.0)
        assert not two.moved
        async with two.turn(1, until, 0) as first, two.turn(1, until, 0) as second:
            assert (first, second) == (None, None), "it is in the fast lane as before"

    asyncio.run(run())


def test_a_tried_request_that_showed_nothing_is_followed_by_another() -> None:
    seconds = 1_000.0

    async def run() -> None:
        nonlocal seconds
        until = asyncio.get_running_loop().time() + 60
        admission = Admission(AdmissionPolicy(lane="fast"), lambda: int(1000 * seconds), lambda: seconds)
        gate = admission.of(Destination(name="one", tenant="acme"))
        gate.overdue()
        seconds += 300
        async with gate.turn(1, until, 0) as refusal:
            assert refusal is None
        assert gate.moved
        seconds += 10
        assert not gate.moved

    asyncio.run(run())


def test_a_request_without_a_turn_at_an_open_breaker_is_refused_for_the_breakers_sake() -> None:
    admission = Admission(AdmissionPolicy(lane="slow"), lambda: 0, lambda: 0.0)
    gate = admission.of(Destination(name="one", tenant="acme"))
    assert gate.without_turn(1) == NoTurn(30.0)
    for _ in range(5):
        gate.ended([Answer(status=503)], 0.1, 0.0)
    assert isinstance(gate.without_turn(1), BreakerOpen)


def test_a_clock_that_was_ahead_and_is_set_back_keeps_no_destination_in_the_slow_lane() -> None:
    seconds, ahead = 1_000.0, 3_600.0

    def clock() -> int:
        return int(1000 * (seconds + ahead))

    admission = Admission(AdmissionPolicy(lane="fast"), clock, lambda: seconds)
    tried, heard_of = (admission.of(Destination(name=name, tenant="acme")) for name in ("tried", "heard-of"))
    for gate in (tried, heard_of):
        gate.overdue()
    ahead = 0.0
    admission.note_recovered([(("acme", "heard-of"), clock())])
    assert tried.moved
    assert heard_of.moved, "it has just moved"
    seconds += 10
    admission.note_recovered([(("acme", "heard-of"), clock())])
    assert not heard_of.moved
    seconds += 290
    assert not tried.moved
