"""Destinations share the waiting time fairly."""

import asyncio
import selectors
from contextlib import suppress

import pytest

from pipelines.data.transmit.delivery.timeout import within


async def nap(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


class _Skipping(selectors.SelectSelector):
    """Skips waits, and adds up their length."""

    waited = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.waited += timeout or 0.0
        return super().select(0)


class _IdleMachine(asyncio.SelectorEventLoop):
    """A loop that is never late, however busy the machine is: its clock is the sum of its waits."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.waited

    def stand_still(self, seconds: float) -> None:
        """Stall like a machine that is too busy."""
        self._skipping.waited += seconds


def test_a_result_in_time_is_returned_with_its_duration() -> None:
    with asyncio.Runner(loop_factory=_IdleMachine) as runner:
        answer, spent = runner.run(within(nap(0.12), 5.0))
    assert answer == "done"
    assert spent == pytest.approx(0.12)


def test_work_beyond_the_limit_is_cancelled() -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    async def impatient() -> None:
        with pytest.raises(TimeoutError):
            await within(endless(), 0.1)
        await asyncio.sleep(0)

    asyncio.run(impatient())
    assert ended == ["cancelled"]


def test_work_that_has_its_result_when_it_is_cancelled_still_gives_it() -> None:
    async def hold_on() -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return "done"

    answer, spent = asyncio.run(within(hold_on(), 0.1))
    assert answer == "done"
    assert spent >= 0.1


def test_work_that_goes_on_when_it_is_cancelled_is_cancelled_again() -> None:
    async def go_on() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    async def left_over() -> int:
        with pytest.raises(TimeoutError):
            await within(go_on(), 0.1)
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(left_over()) == 1


def test_exceptions_are_passed_on() -> None:
    async def fails() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(within(fails(), 1.0))


def test_the_callers_end_ends_the_work() -> None:
    async def leave() -> int:
        waiting = asyncio.create_task(within(nap(60), 60))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(leave()) == 1


def test_while_the_loop_stands_still_no_time_passes() -> None:
    async def starved(machine: _IdleMachine) -> tuple[str, float]:
        async def hog() -> None:
            for _ in range(6):
                machine.stand_still(0.1)
                await asyncio.sleep(0)

        hogging = asyncio.create_task(hog())
        try:
            return await within(nap(0.4), 0.3)  # 0.6 s and more on the wall clock
        finally:
            await hogging

    machine = _IdleMachine()
    with asyncio.Runner(loop_factory=lambda: machine) as runner:
        answer, spent = runner.run(starved(machine))
    assert answer == "done"
    assert spent <= 0.3
