"""The total time of transforms is bounded, however many pipes have some."""

import asyncio
import math
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pipelines.data.transmit.delivery import transform_executor
from pipelines.data.transmit.delivery.pipe_resolver import ResolvedPipe
from pipelines.data.transmit.delivery.transform_executor import Transformed, TransformExecutor
from pipelines.data.transmit.events import Event
from shared.contracts.limits import MAX_EVENT_BYTES

_EVENT_SECONDS = 0.1
_ALLOWED_SECONDS = 0.5
_PIPES = 20


class Machine(asyncio.SelectorEventLoop):
    """A clock that only transforms advance."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__()

    def time(self) -> float:
        return self.now


class Costly:
    """A transform that uses up its steps for each event."""

    hashes = False

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def apply(self, event: Event, _key: bytes) -> Event:
        self._machine.now += _EVENT_SECONDS
        return event


def test_many_pipes_with_one_costly_event_each_get_no_more_time_than_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine()
    monkeypatch.setattr(transform_executor, "time", SimpleNamespace(monotonic=machine.time))
    transform = Costly(machine)
    resolved = cast(ResolvedPipe, SimpleNamespace(transform=transform, pipe=SimpleNamespace(tenant="t")))
    event: Any = object()
    executor = TransformExecutor(cast(Any, None), 64 * MAX_EVENT_BYTES)

    async def one(until: float) -> Transformed:
        async with executor.run(resolved, [event], until) as transformed:
            return transformed

    async def all_at_once() -> list[Transformed]:
        await one(math.inf)  # the thread has started
        until = asyncio.get_running_loop().time() + _ALLOWED_SECONDS
        return await asyncio.gather(*(one(until) for _ in range(_PIPES)))

    try:
        with asyncio.Runner(loop_factory=lambda: machine) as runner:
            found = runner.run(all_at_once())
    finally:
        executor.close()
    ready = sum(len(each.ready) for each in found)
    assert 1 <= ready <= _ALLOWED_SECONDS / _EVENT_SECONDS + 1
    assert sum(len(each.late) for each in found) == _PIPES - ready
