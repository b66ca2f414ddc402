"""Activities are stored each minute, on a clock that may be set back."""

import msgspec
import pytest

from pipelines.control.observe.timeline import recorder
from pipelines.control.observe.timeline.recorder import TimelineRecorder
from shared.contracts.diamond.stability import Stability
from shared.contracts.timeline import HealthSpan
from tests.harness.waiting import eventually
from tests.unit.pipelines.control.observe.memory_store import MemoryStore

NOW = 1_800_000_000_000
AHEAD = NOW + 3_600_000


def test_what_goes_on_is_stored_after_the_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "_EVERY_SECONDS", 0.001)
    store, clock = MemoryStore(), [AHEAD]

    def stored() -> list[int | None]:
        bodies = [item.body for item in store.query("timeline")]
        return [msgspec.msgpack.decode(body, type=HealthSpan).until_ms for body in bodies]

    recording = TimelineRecorder(store, lambda: None, lambda: clock[0])
    recording.start(lambda: Stability(stable=True))
    try:
        eventually(lambda: stored() == [AHEAD], 20, "the first look is stored", every=0.01)
        clock[0] = NOW
        eventually(lambda: stored() == [NOW], 20, "it is stored again", every=0.01)
    finally:
        recording.stop()
