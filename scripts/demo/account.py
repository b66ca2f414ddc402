"""The demo's pipes, and their deliveries compared with the acknowledged events."""

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
    """A pipe of the demo as shown to the user."""

    path: str
    """Path of its destination at the demo's receiver."""

    name: str
    what: str
    expects: Expects | None
    """None if only the side knows, which chooses a sample by hash."""


EVERYTHING: Final = PipeView("/everything", "demo-everything", "every event", lambda _: True)
TROUBLE: Final = PipeView(
    "/trouble", "demo-trouble", "stalls and errors", lambda kind: kind in (STALL, ERROR)
)
SAMPLED: Final = PipeView("/sampled", "demo-sampled", "10 % heartbeats", None)
PIPES: Final = (EVERYTHING, TROUBLE, SAMPLED)


class PipeResult(Struct, frozen=True, kw_only=True):
    """The acknowledged events of one pipe, by outcome."""

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

    Without `kind_of`, for a user's own events, only the pipe that takes all events has an expectation.
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
        """`arrived` is the live set of ids at the destination."""
        self._arrived = arrived
        self._since: dict[str, int] = {}
        self.acked: list[str] = []

    def add(self, ids: Iterable[str], _: int, acked_ms: int) -> None:
        """Note acknowledged events; a sender's `OnAcked`."""
        for event_id in ids:
            self.acked.append(event_id)
            if event_id not in self._arrived:
                self._since[event_id] = acked_ms

    def settle(self) -> int:
        """Forget arrived events; returns how many are still under way."""
        for event_id in [each for each in self._since if each in self._arrived]:
            del self._since[event_id]
        return len(self._since)

    def overdue(self, before_ms: int) -> int:
        """Number of events acknowledged before a time (epoch ms) that have not arrived."""
        return sum(1 for since in self._since.values() if since < before_ms)
