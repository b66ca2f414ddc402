"""Patching of brokers or machines: a step forward waits for its end, as it passes by itself."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from pipelines.control.deploy.backend import Backend, BackendError
from pipelines.control.deploy.policy import waits_for_patches
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release

_AGAIN_MS: Final = 10_000
"""A step that waits asks so often: in AWS an answer costs half a dozen requests."""


class _Answer(Struct, frozen=True):
    number: int
    step: Step
    at_ms: int
    reasons: Sequence[str]


class Patches:
    """The place's answer for the present step. Belongs to one thread; methods raise no BackendError."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._answer: _Answer | None = None

    def reasons_to_wait(self, release: Release, now_ms: int) -> Sequence[str]:
        """Why the present step does not begin now, in words; empty if it may, or has begun.

        Args:
            release: as it is written down: a step that waits has not begun.
            now_ms: now, epoch milliseconds.
        """
        if not waits_for_patches(release):
            return ()
        if self._answer is None or not _counts(self._answer, release, now_ms):
            self._answer = _Answer(release.number, release.step, now_ms, self._asked(release))
        return self._answer.reasons

    def _asked(self, release: Release) -> Sequence[str]:
        side = release.target
        try:
            return [each.text for each in self._backend.passing(side)]
        except BackendError as error:
            if release.kind is Kind.BURST_OFF:
                return ()  # both sides have traffic: to end that does not wait for what cannot be asked
            return (f"it is not known whether {side} is being patched: {error}",)


def _counts(answer: _Answer, release: Release, now_ms: int) -> bool:
    """Whether an answer need not be asked for again: the step has begun by it, or it is a new one."""
    if (answer.number, answer.step) != (release.number, release.step):
        return False
    begun = not answer.reasons and not release.waits
    return begun or 0 <= now_ms - answer.at_ms < _AGAIN_MS
