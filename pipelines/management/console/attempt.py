"""An event tried on a pipe, as the management API answers it."""

from collections.abc import Sequence
from typing import Final

from msgspec import Raw, Struct

from shared.contracts.api_answers import FieldError

NOTHING: Final = Raw(b"null")


class UnmetCondition(Struct, frozen=True, kw_only=True):
    """The first condition of a pattern that an event does not meet."""

    path: Sequence[str]
    wanted: Raw
    found: Sequence[Raw] = ()


class SampleView(Struct, frozen=True, kw_only=True):
    """The share that a pipe takes now, and whether this event is in it."""

    percent: float
    taken: bool


class DestinationView(Struct, frozen=True, kw_only=True):
    """Where the event would go."""

    name: str
    connector: str
    summary: str = ""


class AttemptProblem(Struct, frozen=True, kw_only=True):
    """Why it would not arrive."""

    detail: str = ""
    errors: Sequence[FieldError] = ()


class Attempt(Struct, frozen=True, kw_only=True):
    """The effect that a pipe would have on an event."""

    pipe: str
    sample: SampleView
    matches: bool | None = None
    """None if that could not be decided; `problem` says why."""

    unmet: UnmetCondition | None = None
    event: Raw = NOTHING
    """After masks and transform; `NOTHING` if it does not leave."""

    example_hashes: bool = False
    destination: DestinationView | None = None
    leaves: bool = False
    problem: AttemptProblem | None = None


class Attempts(Struct, frozen=True, kw_only=True):
    """A page of them."""

    items: list[Attempt]
