"""Which second copies of an event were sent through a pipe, and which hop made them. Pure."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from shared.contracts.ledger import Stage

COPIES: Final = frozenset((Stage.FIRST, Stage.FURTHER))
"""Stages of the copies that route makes."""

CopiesByHash = Mapping[int, Mapping[str, int]]
"""How many copies route wrote of each event, by its hash and by pipe."""


class DoubledCopies(NamedTuple):
    """One event's copies for one pipe. A client may send an id twice, so there may be more than hops made."""

    written: int
    dropped: int
    """Those that transmit recognised as second ones."""

    further: int
    """Second ones that the reconciliation of the pipe's further copies reports."""

    of_ingest: int
    """How often ingest doubled the event, whatever its pipes."""

    of_route: int
    """How often route did, with second ones for the pipe that the one of further copies leaves to it."""

    @property
    def sent_of_route(self) -> int:
        """Second copies of route's making that were sent."""
        return min(self._made_by_route, self._sent)

    @property
    def sent_of_ingest(self) -> int:
        """Second copies that were sent because ingest doubled the event."""
        return self._sent - self.sent_of_route

    @property
    def _second(self) -> int:
        return max(0, self.written - 1 - self.further)

    @property
    def _made_by_route(self) -> int:
        return min(self.of_route, self._second)

    @property
    def _sent(self) -> int:
        made = self._made_by_route + min(self.of_ingest, self._second - self._made_by_route)
        return max(0, made - max(0, self.dropped - self.further))
