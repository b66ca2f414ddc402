"""Which dead letters a page shows."""

from collections.abc import Mapping
from urllib.parse import urlencode

from msgspec import Struct

CONDITIONS = ("pipe", "destination", "reason", "since", "until")
"""Conditions of a list, by their names in the API and in the page's address."""


class LetterQuery(Struct, frozen=True, kw_only=True):
    """A page of which letters."""

    conditions: Mapping[str, str] = {}
    cursor: str = ""
    replayed_too: bool = False

    def text(self, **more: str) -> str:
        """The query string of a URL, beginning with `?`."""
        asked = {**self.conditions, "all": "true" if self.replayed_too else "", "cursor": self.cursor, **more}
        return "?" + urlencode({name: text for name, text in asked.items() if text})


def query_of(asked: Mapping[str, str]) -> LetterQuery:
    """The query in the address of a page."""
    conditions = {name: text for name in CONDITIONS if (text := asked.get(name, "").strip())}
    return LetterQuery(
        conditions=conditions, cursor=asked.get("cursor", ""), replayed_too=asked.get("all") == "true"
    )
