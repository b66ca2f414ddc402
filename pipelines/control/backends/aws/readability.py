"""Whether a version reads what both sides have written, and goes on from the checkpoints of one of them."""

from collections.abc import Callable, Mapping, Sequence

from pipelines.control.backends.aws.manifest import Manifest
from pipelines.control.backends.aws.questions import QueryPositions, Questions
from pipelines.control.deploy.backend import BackendError, Obstacle
from pipelines.control.readability.answer import READS_ALL, Answer, unread

Manifests = Callable[[str, str], Sequence[Manifest] | None]
"""Looks up a version's manifests for a side; None if none are stored."""


class Readability:
    """Asks versions on both sides. Methods raise BackendError."""

    def __init__(
        self,
        manifests: Manifests,
        questions: Callable[[str], Questions],
        positions: Callable[[str], QueryPositions],
    ) -> None:
        """Nothing is asked before the first call.

        Args:
            manifests: finds a version.
            questions: of a side.
            positions: where the queries of a side stand, by its checkpoints; raises ValueError if they
                cannot be understood.
        """
        self._manifests, self._questions, self._positions = manifests, questions, positions

    def obstacles(
        self, version: str, target: str, runs: Mapping[str, str], serving: str
    ) -> Sequence[Obstacle] | None:
        """Obstacles: a version does not read what the one that serves does; None while it is being asked.

        A side that never ran a version has written nothing, and what this one wrote it reads.

        Args:
            version: that is to be released.
            target: the side that gets it.
            runs: by side, the version that ran there last; empty if none did.
            serving: the version that serves.
        """
        others = [side for side, ran in runs.items() if ran and ran != version]
        try:
            positions = {side: self._positions(side) if side == target else {} for side in others}
        except ValueError as error:
            return [_lasting(f"version {version} cannot read the checkpoints of {target}: {error}")]
        found = [self._unread(version, serving, side, positions[side]) for side in others]
        texts = [text for each in found if each is not None for text in each]
        return None if None in found else [_lasting(f"version {version} {text}") for text in texts]

    def _unread(
        self, version: str, serving: str, side: str, positions: QueryPositions
    ) -> Sequence[str] | None:
        new = self._asked(version, side, positions)
        if new is None:
            return None
        old = self._asked(serving, side, positions) if new.refuses else READS_ALL
        return None if old is None else unread(new, old, side)

    def _asked(self, version: str, side: str, positions: QueryPositions) -> Answer | None:
        manifests = self._manifests(version, side)
        if manifests is None:
            raise BackendError(
                f"{version} is not stored for {side}, so it cannot be asked what it reads there: "
                f"scripts/release/publish_version.sh {version}"
            )
        return self._questions(side).ask(version, manifests, positions)


def _lasting(text: str) -> Obstacle:
    return Obstacle(text=text, lasting=True)
