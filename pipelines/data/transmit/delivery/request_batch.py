"""Events on their way in one request, and how long they may take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pipelines.data.transmit.delivery.pipe_resolver import Target
from pipelines.data.transmit.events import Event
from shared.contracts.documents import Destination

_LOCAL_TRIES: Final = 1.25
"""From the first local try to the last, in units of the patience for an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a lane waits for one destination. Seconds."""

    answer: float = float("inf")
    """For the answer to a request, or for the destination's rate to allow it."""

    turn: float = float("inf")
    """For one of the destination's slots."""

    @property
    def local_tries(self) -> float:
        """For all local tries: a lane that waits for no answer long waits for no string of them either."""
        return _LOCAL_TRIES * self.answer


class Deadline:
    """When all deliveries of a task must be at an end, on the loop's clock. For the loop's thread alone."""

    def __init__(self, at: float) -> None:
        self.at = at

    def extend(self, seconds: float) -> None:
        """Put it off; another thread asks for this by `loop.call_soon_threadsafe`."""
        self.at += seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBatch:
    """Events on their way in one request, none of them settled, and what is known of them."""

    target: Target
    attempt: int
    events: Sequence[Event]
    started_ms: int
    """When the task began with them, epoch milliseconds."""

    tried: float | None = None
    """When they were first sent, on the loop's clock."""

    tries: int = 0

    @property
    def destination(self) -> Destination:
        """Where they go."""
        return self.target.destination

    def sent(self, now: float) -> "RequestBatch":
        """The batch with one more try, begun at `now` on the loop's clock."""
        return replace(self, tries=self.tries + 1, tried=self.tried or now)

    def of(self, events: Sequence[Event]) -> "RequestBatch":
        """Those of its events that are tried again together."""
        return replace(self, events=events)

    def part(self, events: Sequence[Event]) -> "RequestBatch":
        """Some of its events as a batch of their own: to split one is not a failed try."""
        return replace(self, events=events, tries=self.tries - 1)
