"""What a driver that waits for another one's queries does next. Pure."""

from collections.abc import Callable, Collection, Sequence
from enum import Enum, auto
from typing import Final

BEAT_SECONDS: Final = 1.0
SILENT_SECONDS: Final = 15.0
"""A driver at work whose JVM does not answer for so long is ended. A collection of garbage takes less than a
second; the kernel reports a driver that died by itself, without any wait."""

CALM_SECONDS: Final = 6.0
"""So long after the first node the ones start that no event waits for: on two cores they would delay it."""


class Step(Enum):
    """What to do next."""

    WAIT = auto()
    START = auto()
    """Start the query of a node whose lock this driver has."""

    END_OTHER = auto()
    """End the driver at work, which does not answer: then its locks are free."""


class Takeover:
    """Decides by the locks that this driver has and by the other driver's beats."""

    def __init__(
        self,
        order: Sequence[str],
        monotonic: Callable[[], float],
        silent_seconds: float = SILENT_SECONDS,
        *,
        later: Collection[str] = (),
    ) -> None:
        """Wait for the nodes in `order`.

        Args:
            order: every node, the one to start first at the front.
            monotonic: seconds of a clock that never goes back.
            silent_seconds: after which a driver that does not beat is ended.
            later: nodes that start CALM_SECONDS after the first one.
        """
        self._order, self._monotonic, self._silent_seconds = order, monotonic, silent_seconds
        self._later = frozenset(later)
        self._first_start: float | None = None
        self._beat: str | None = None
        self._since = monotonic()
        self._started: set[str] = set()

    @property
    def complete(self) -> bool:
        """Whether every node was started."""
        return self._started == set(self._order)

    def next(self, acquired: Collection[str], beat: str) -> tuple[Step, str]:
        """The next step, and the node that it is about.

        Args:
            acquired: nodes whose locks this driver has.
            beat: the other driver's last one.
        """
        for node in self._order:
            if node in acquired and node not in self._started and self._due(node):
                self._started.add(node)
                if self._first_start is None:
                    self._first_start = self._monotonic()
                return Step.START, node
        if beat != self._beat:
            self._beat, self._since = beat, self._monotonic()
        missing = next((node for node in self._order if node not in acquired), "")
        if missing and self._monotonic() - self._since >= self._silent_seconds:
            self._since = self._monotonic()
            return Step.END_OTHER, missing
        return Step.WAIT, missing

    def _due(self, node: str) -> bool:
        if node not in self._later:
            return True
        return self._first_start is not None and self._monotonic() - self._first_start >= CALM_SECONDS
