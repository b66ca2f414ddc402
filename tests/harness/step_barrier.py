"""Holds a deployer in the midst of a step, so that a test can kill it there."""

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from shared.contracts.release_steps import Step
from shared.contracts.releases import Release
from shared.dynamodb.release_store import ReleaseStore


class StepBarrier:
    """Holds this process for good at the first step that it must not pass.

    It holds after the step's first change on a side, or before its first write if it changes nothing. So no
    process finds a record that the step was done.
    """

    def __init__(self, held: Path, passed: Collection[Step]) -> None:
        """`held` is the file that names the step once the process is held there."""
        self._held, self._passed = held, passed
        self.known: Release | None = None
        """The release as this process read it last."""

    def reach(self) -> None:
        """Return at once in a step that is to be passed, and never in another."""
        if self.known is None or self.known.ended or self.known.step in self._passed:
            return
        draft = self._held.with_suffix(".new")
        draft.write_text(self.known.step)
        draft.replace(self._held)
        while True:
            time.sleep(60)


class HeldStore(ReleaseStore):
    """The store of a process that is held."""

    def __init__(self, table: str, endpoint: str | None, *, barrier: StepBarrier) -> None:
        super().__init__(table, endpoint)
        self._barrier = barrier

    def current(self) -> Release | None:
        self._barrier.known = super().current()
        return self._barrier.known

    def put(self, release: Release, guards: Sequence[dict[str, Any]] = ()) -> Release | None:
        known = self._barrier.known
        takes_over = known is not None and known.owner != release.owner
        if not (takes_over or release.waits):  # these have not begun with the step
            self._barrier.reach()
        return super().put(release, guards)
