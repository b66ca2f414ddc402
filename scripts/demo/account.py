"""Who was promised what: the demo's pipes, and how their deliveries compare with the acknowledged events."""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from msgspec import Struct

from scripts.load.lags import LagSnapshot
from scripts.load.receiver import PathCounts
from scripts.load.telemetry import ERROR, STALL

Expects = Callable[[str], bool]
"""Whether a pipe takes an event, given its CloudEvents type."""

KindOf = Callable[[str], str]
"""The CloudEvents type of an event, given its id."""


class PipeView(Struct, frozen=True):
    """A pipe of the demo as its reader sees it."""

    path: str
    """The destination's, at the demo's receiver."""

    name: str
    what: str
    expects: Expects | None
    """None where only the side can tell: a sample is chosen by a hash."""


EVERYTHING: Final = PipeView("/everything", "demo-everything", "every event", lambda _: True)
TROUBLE: Final = PipeView(
    "/trouble", "demo-trouble", "stalls and errors", lambda kind: kind in (STALL, ERROR)
)
SAMPLED: Final = PipeView("/sampled", "demo-sampled", "10 % heartbeats", None)
PIPES: Final = (EVERYTHING, TROUBLE, SAMPLED)


class PipeResult(Struct, frozen=True, kw_only=True):
    """What became of the acknowledged events in one pipe."""

    pipe: PipeView
    expected: int | None
    delivered: int
    """Distinct events."""

    duplicated: int
    missing: frozenset[str]
    """Acknowledged, expected, not delivered."""

    lag: LagSnapshot


def pipe_result(
    pipe: PipeView, acked: Iterable[str], kind_of: KindOf | None, counts: PathCounts
) -> PipeResult:
    """Compare one pipe's deliveries with what it should have delivered.

    Without `kind_of`, for a user's own events, only of the pipe that takes all something is expected.
    """
    expected = _expected(pipe, acked, kind_of)
    return PipeResult(
        pipe=pipe,
        expected=None if expected is None else len(expected),
        delivered=counts.distinct,
        duplicated=counts.duplicated,
        missing=frozenset() if expected is None else frozenset(expected - counts.seen),
        lag=counts.overall.snapshot(),
    )


def _expected(pipe: PipeView, acked: Iterable[str], kind_of: KindOf | None) -> set[str] | None:
    if pipe is EVERYTHING:
        return set(acked)
    if pipe.expects is None or kind_of is None:
        return None
    return {each for each in acked if pipe.expects(kind_of(each))}


class Pending:
    """Acknowledged events that have not arrived yet, each with the time of its acknowledgement."""

    def __init__(self, arrived: Collection[str]) -> None:
        """`arrived` is watched: the live set of ids at the destination."""
        self._arrived = arrived
        self._since: dict[str, int] = {}
        self.acked: list[str] = []

    def add(self, ids: Iterable[str], _: int, acked_ms: int) -> None:
        """Take note of acknowledged events; a sender's `OnAcked`."""
        for event_id in ids:
            self.acked.append(event_id)
            if event_id not in self._arrived:
                self._since[event_id] = acked_ms

    def settle(self) -> int:
        """Forget what has arrived; how many are still on their way."""
        for event_id in [each for each in self._since if each in self._arrived]:
            del self._since[event_id]
        return len(self._since)

    def overdue(self, before_ms: int) -> int:
        """How many were acknowledged before a time, epoch milliseconds, and have not arrived."""
        return sum(1 for since in self._since.values() if since < before_ms)
