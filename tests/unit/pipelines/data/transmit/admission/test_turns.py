"""How long a micro-batch's requests wait for their turns."""

import asyncio
from math import inf

from pipelines.data.transmit.admission.gate import Admission, AdmissionPolicy, Gate
from pipelines.data.transmit.admission.turns import Turns
from shared.contracts.documents import Destination, Limits
from tests.unit.pipelines.data.transmit.virtual_time import run

SECONDS = 2.0
ANSWER = 0.3


def gates(*names: str, requests: int = 1, rate: float | None = None) -> list[Gate]:
    loop = asyncio.get_running_loop()
    admission = Admission(AdmissionPolicy(lane="slow"), lambda: 0, loop.time)
    limits = Limits(requests=requests, rate=rate)
    return [admission.of(Destination(name=name, tenant="t", limits=limits)) for name in names]


async def sent(turns: Turns, gate: Gate, answer: float = ANSWER) -> bool:
    """Whether a request was sent; if so, it was answered after this time."""
    until = asyncio.get_running_loop().time() + 60.0
    async with turns.at(gate, gate.turn(1, until, until)) as refusal:
        if refusal is None:
            await asyncio.sleep(answer)
        return refusal is None


async def many(turns: Turns, gate: Gate, requests: int, answer: float = ANSWER) -> int:
    """Number of requests that were sent."""
    return sum(await asyncio.gather(*(sent(turns, gate, answer) for _ in range(requests))))


def test_requests_that_go_on_waiting_end_after_the_time_and_two_answers() -> None:
    async def scene() -> None:
        (gate,), loop = gates("much"), asyncio.get_running_loop()
        began = loop.time()
        assert await many(Turns(SECONDS), gate, 100) >= SECONDS / ANSWER
        assert loop.time() - began <= SECONDS + 2 * ANSWER

    run(scene())


def test_they_go_on_while_a_request_to_another_destination_is_under_way() -> None:
    async def scene() -> None:
        (much, late), loop, turns = gates("much", "late"), asyncio.get_running_loop(), Turns(SECONDS)
        began = loop.time()
        taken, _ = await asyncio.gather(many(turns, much, 100), sent(turns, late, 6.0))
        assert taken >= 6.0 / ANSWER
        assert loop.time() - began <= 6.0 + 2 * ANSWER

    run(scene())


def test_they_go_on_while_anything_else_is_under_way() -> None:
    async def scene() -> None:
        (gate,), turns = gates("much"), Turns(SECONDS)
        requests = asyncio.create_task(many(turns, gate, 100))
        with turns.under_way():
            await asyncio.sleep(5.0)
        assert await requests >= 5.0 / ANSWER

    run(scene())


def test_two_that_go_on_waiting_do_not_wait_for_each_other() -> None:
    async def scene() -> None:
        (one, two), loop, turns = gates("one", "two"), asyncio.get_running_loop(), Turns(SECONDS)
        began = loop.time()
        await asyncio.gather(many(turns, one, 100, 0.3), many(turns, two, 100, 0.4))
        assert loop.time() - began <= SECONDS + 2 * 0.4

    run(scene())


def test_one_that_was_refused_requests_gets_no_more_in_this_micro_batch_and_some_in_the_next() -> None:
    async def scene() -> None:
        (gate,), turns = gates("much"), Turns(SECONDS)
        await many(turns, gate, 100)
        assert not await sent(turns, gate)
        assert await sent(Turns(SECONDS), gate)

    run(scene())


def test_requests_that_come_in_several_runs_are_all_sent_if_each_run_has_time() -> None:
    async def scene() -> None:
        (gate,), turns = gates("runs"), Turns(SECONDS)
        for _ in range(5):
            assert await many(turns, gate, 6) == 6
            await asyncio.sleep(0.1)

    run(scene())


def test_a_request_whose_turn_takes_long_is_not_cut_short() -> None:
    async def scene() -> None:
        (gate,) = gates("late")
        assert await sent(Turns(SECONDS), gate, 9.0)

    run(scene())


def test_without_a_limit_requests_wait_for_their_turns() -> None:
    async def scene() -> None:
        (gate,) = gates("much")
        assert await many(Turns(inf), gate, 100) == 100

    run(scene())


def test_those_that_waited_in_vain_for_the_rate_leave_it_to_the_next() -> None:
    async def scene() -> None:
        (gate,), loop = gates("limited", requests=8, rate=1.0), asyncio.get_running_loop()
        assert await many(Turns(2.5), gate, 6, 0.0) == 4, "at 0, 0, 1 and 2 s"
        began = loop.time()
        assert await sent(Turns(2.5), gate, 0.0)
        assert loop.time() - began <= 0.6, "at 3 s"

    run(scene())
