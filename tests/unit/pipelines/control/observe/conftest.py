"""Control loops that end with their test."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.unit.pipelines.control.observe.looped import Looped
from tests.unit.pipelines.control.observe.memory_store import MemoryStore

Start = Callable[..., Looped]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts control loops."""
    started: list[Looped] = []

    def begin(now_ms: int, store: MemoryStore | None = None, **given: Any) -> Looped:
        started.append(Looped(now_ms, store, **given))
        return started[-1]

    yield begin
    for each in started:
        each.close()
