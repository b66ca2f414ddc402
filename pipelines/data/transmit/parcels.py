"""Events on their way in one request, and how long they may take."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pipelines.data.transmit.events import Event
from pipelines.data.transmit.targets import Target
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


@dataclass(slots=True, kw_only=True)
class Parcel:
    """Events on their way in one request, and what is known of them."""

    target: Target
    attempt: int
    events: Sequence[Event]
    """Those not settled yet."""

    started_ms: int
    tried: float | None = None
    """When it was first, on the loop's clock."""

    tries: int = 0
    halves: list[Sequence[Event]] = field(default_factory=list)

    @property
    def destination(self) -> Destination:
        """Where they go."""
        return self.target.destination


def left(parcel: Parcel) -> list[Event]:
    """What is not settled; its halves are put together again."""
    events = [*parcel.events, *(event for part in parcel.halves for event in part)]
    parcel.halves = []
    return events


def part(parcel: Parcel, events: Sequence[Event]) -> Parcel:
    """Some of a parcel's events as a parcel of their own."""
    return replace(
        parcel,
        events=events,
        halves=[],
        tries=parcel.tries - 1,  # to split is not a failed try
    )
