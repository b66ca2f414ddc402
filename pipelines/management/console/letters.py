"""Dead letters as the management API answers them."""

from collections.abc import Mapping
from urllib.parse import urlencode

from msgspec import Raw, Struct

CONDITIONS = ("pipe", "destination", "reason", "since", "until")
"""Conditions of a list, by their names in the API and in the page's address."""


class Letter(Struct, frozen=True, kw_only=True):
    """An event that was not delivered."""

    letter: str
    """`partition/offset`."""

    died_ms: int
    pipe: str
    reason: str
    destination: str | None = None
    status: int | None = None
    attempt: int | None = None
    received_ms: int | None = None
    first_try_ms: int | None = None
    last_try_ms: int | None = None
    replayed_ms: int | None = None
    id: str | None = None
    source: str | None = None
    type: str | None = None
    time: str | None = None


class Withheld(Struct, frozen=True, kw_only=True):
    """Why an event is not shown."""

    detail: str = ""


class WholeLetter(Letter, frozen=True, kw_only=True):
    """One with its event, as its pipe would send it now."""

    event: Raw
    problem: Withheld | None = None


class LetterPage(Struct, frozen=True, kw_only=True):
    """A page of a list."""

    items: list[Letter]
    next: str | None = None
    cut: bool = False


class ReplayCounts(Struct, frozen=True, kw_only=True):
    """The counts of a replay, or of a dry run."""

    matching: int
    replayed_before: int
    replayed: int
    next: str | None = None


class LetterQuery(Struct, frozen=True, kw_only=True):
    """A page of which letters."""

    conditions: Mapping[str, str] = {}
    cursor: str = ""
    replayed_too: bool = False

    def text(self, **more: str) -> str:
        """As the query of an address, beginning with `?`."""
        asked = {**self.conditions, "all": "true" if self.replayed_too else "", "cursor": self.cursor, **more}
        return "?" + urlencode({name: text for name, text in asked.items() if text})


def query_of(asked: Mapping[str, str]) -> LetterQuery:
    """The query in the address of a page."""
    conditions = {name: text for name in CONDITIONS if (text := asked.get(name, "").strip())}
    return LetterQuery(
        conditions=conditions, cursor=asked.get("cursor", ""), replayed_too=asked.get("all") == "true"
    )
