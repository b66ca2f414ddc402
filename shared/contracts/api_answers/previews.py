"""An event tried on a pipe."""

from collections.abc import Sequence

from msgspec import Struct

from shared.contracts.api_answers.events import Event, Value
from shared.contracts.api_answers.problems import Problem


class UnmetCondition(Struct, frozen=True, kw_only=True):
    """The first condition of a pattern that an event does not meet."""

    path: Sequence[str]
    wanted: Value
    """The condition as it was written."""

    found: Sequence[Value]
    """The beginning of what the event has there."""


class SampleView(Struct, frozen=True, kw_only=True):
    """The share that a pipe takes now, and whether this event is in it."""

    percent: float
    taken: bool


class DestinationView(Struct, frozen=True, kw_only=True):
    """Where the event would go."""

    name: str
    connector: str
    summary: str


class Preview(Struct, frozen=True, kw_only=True):
    """The effect that a pipe would have on an event."""

    pipe: str
    matches: bool | None = None
    """None if that could not be decided; `problem` says why."""

    unmet: UnmetCondition | None = None
    sample: SampleView
    destination: DestinationView | None = None
    event: Event
    """After masks and transform; null if it does not leave."""

    example_hashes: bool = False
    """Hashes in it are examples: the tenant's own key is transmit's alone."""

    leaves: bool = False
    problem: Problem | None = None
    """Why it would not arrive."""
