"""Events that were not delivered."""

from msgspec import Struct

from shared.contracts.api_answers.events import Event
from shared.contracts.api_answers.problems import Problem


class Letter(Struct, frozen=True, kw_only=True):
    """An event that was not delivered."""

    letter: str
    """`partition/offset`."""

    died_ms: int
    pipe: str
    destination: str | None
    reason: str
    """A word, a colon, a sentence."""

    status: int | None
    """Of the last answer, if it was one of HTTP."""

    attempt: int | None
    received_ms: int | None
    first_try_ms: int | None
    last_try_ms: int | None
    replayed_ms: int | None
    id: str | None
    source: str | None
    type: str | None
    time: str | None


class WholeLetter(Letter, frozen=True, kw_only=True):
    """One with its event, as its pipe would send it now."""

    event: Event
    """Null if it is not shown."""

    example_hashes: bool
    """Hashes in it are examples: the tenant's own key is transmit's alone."""

    problem: Problem | None
    """Why the event is not shown."""


class LetterPage(Struct, frozen=True, kw_only=True):
    """A page of a list, the newest first."""

    items: list[Letter]
    next: str | None
    cut: bool
    """The search ended early; `next` goes on."""


class ReplayCounts(Struct, frozen=True, kw_only=True):
    """The counts of a replay, or of a dry run."""

    dry_run: bool
    matching: int
    replayed_before: int
    replayed: int
    next: str | None
    cut: bool
    """The search ended early; `next` goes on."""
