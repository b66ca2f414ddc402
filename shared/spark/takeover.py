"""The next step of a driver that waits for another one's queries. Pure."""

from collections.abc import Callable, Collection, Sequence
from enum import Enum, auto
from typing import Final

from shared.spark.driver_beat import BEAT_SECONDS

SILENT_LOOKS: Final = 15
"""A driver at work that does not beat between so many looks, a second or more apart, is ended. A collection
of garbage takes less than a second; the kernel reports a driver that died by itself, without any wait. Looks
are counted, not seconds: while the whole machine stands still, time passes, and no driver could beat."""


class Step(Enum):
    """A step of the driver that waits."""

    WAIT = auto()
    START = auto()
    """Start the query of a node that this driver has locked."""

    END_OTHER = auto()
    """End the driver at work, which does not answer: then its locks are free."""

    DONE = auto()
    """Every lock is this driver's, and every query of the order is started."""


class Takeover:
    """Decides by the locks that this driver has and by the other driver's beats."""

    def __init__(
        self,
        order: Sequence[str],
        monotonic: Callable[[], float],
        silent_looks: int = SILENT_LOOKS,
        *,
        later: Sequence[str] = (),
    ) -> None:
        """Wait for the nodes in `order`.

        Args:
            order: nodes with queries to start now, the one to start first at the front.
            monotonic: seconds of a clock that never goes back.
            silent_looks: after which a driver that does not beat is ended.
            later: nodes to lock, too; the caller starts their queries afterwards.
        """
        self._order, self._later = tuple(order), tuple(later)
        self._monotonic, self._silent_looks = monotonic, silent_looks
        self._beat: str | None = None
        self._silent, self._looked = 0, monotonic()
        self._started: set[str] = set()

    def next(self, acquired: Collection[str], beat: str) -> tuple[Step, str]:
        """The next step, and the node that it is about.

        Args:
            acquired: nodes that this driver has locked.
            beat: the other driver's last one.
        """
        for node in self._order:
            if node in acquired and node not in self._started:
                self._started.add(node)
                return Step.START, node
        self._look(beat)
        missing = next((node for node in (*self._order, *self._later) if node not in acquired), "")
        if not missing:
            return Step.DONE, ""
        if self._silent >= self._silent_looks:
            self._silent = 0
            return Step.END_OTHER, missing
        return Step.WAIT, missing

    def _look(self, beat: str) -> None:
        """Count the looks since the last beat."""
        now = self._monotonic()
        if beat != self._beat:
            self._beat, self._silent, self._looked = beat, 0, now
        elif now - self._looked >= BEAT_SECONDS:
            self._silent, self._looked = self._silent + 1, now
