"""Reads the register of a side's activities, without those that are over."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from shared.contracts.diamond.activities import Activity
from shared.dynamodb import activity_rows as rows
from shared.dynamodb.activity_rows import ACTIVITY, WISH
from shared.dynamodb.client import dynamodb_client
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.dynamodb.reading import queried, row_at
from shared.runtime.clock import Clock

_MARGIN: Final = 1.1
"""Clocks do not run equally fast: readers wait a little longer than the lease."""

_SKEW_SECONDS: Final = 300.0
"""More than clocks of the day differ; an owner that beats at all does so long before."""


_Row = tuple[str, Activity]
"""An activity or a wish, after its kind."""


class Register(Struct, frozen=True, kw_only=True):
    """Activities under way on a side, and wishes of those who wait, oldest first."""

    activities: Sequence[Activity]
    wishes: Sequence[Activity]
    serial: int
    """Counts beginnings and wishes."""

    over: Sequence[_Row] = ()
    """Activities and wishes of silent owners, each with its kind."""

    unreadable: Sequence[str] = ()
    """Sort keys of rows that `readable` left out."""


class ActivityReader:
    """One process's view of a side's register. May be used from any thread.

    Owners send heartbeats. An owner counts as dead once its beat has not moved for its lease, by this
    process's own clock. Of two looks at the same time the older one may be noted last, which only delays
    that. An activity without beats, such as a person's patch, also ends at its time by the wall clock: a
    reader that first looks hours later must not wait as long again.
    """

    def __init__(
        self,
        table: str,
        endpoint: str | None,
        *,
        side: str,
        clock: Clock,
        monotonic: Callable[[], float],
    ) -> None:
        """`table` is that of the documents, `endpoint` the URL of DynamoDB Local; None is AWS."""
        self._client: Any = dynamodb_client(endpoint)
        self._table, self._side, self._clock, self._monotonic = table, side, clock, monotonic
        self._seen: dict[str, tuple[int, float]] = {}
        """The last beat of each activity, and when it was first seen, by id."""

        self._lock = threading.Lock()

    def look(self) -> Register:
        """The register now. A row that this version cannot read is an error: who acts must know all of them.

        Raises:
            StoreError: if the table cannot be used.
        """
        serial = self._serial()  # before the rest: if that is newer, a write on the serial fails
        return self._register(serial, [_read(row) for row in self._rows()])

    def readable(self) -> Register:
        """The register without the rows that this version cannot read: to be shown, not to act on.

        Raises:
            StoreError: if the table cannot be used.
        """
        serial = self._serial()
        found: list[_Row] = []
        unreadable: list[str] = []
        for row in self._rows():
            try:
                found.append(_read(row))
            except (KeyError, ValueError):
                unreadable.append(row[DOCUMENT]["S"])
        return replace(self._register(serial, found), unreadable=unreadable)

    def _register(self, serial: int, found: Sequence[_Row]) -> Register:
        living, over = self._judged(sorted(found, key=lambda each: each[1].fence))
        return Register(
            activities=[each for kind, each in living if kind == ACTIVITY],
            wishes=[each for kind, each in living if kind == WISH],
            serial=serial,
            over=over,
        )

    def _judged(self, found: Sequence[_Row]) -> tuple[Sequence[_Row], Sequence[_Row]]:
        """Those of living owners, and those of dead ones."""
        with self._lock:
            self._note([each for _, each in found])
            dead = [self._dead(each) for _, each in found]
        pairs = list(zip(found, dead, strict=True))
        return [row for row, is_dead in pairs if not is_dead], [row for row, is_dead in pairs if is_dead]

    def _dead(self, each: Activity) -> bool:
        beat, since = self._seen[each.id]
        lease = each.lease_seconds * _MARGIN
        if beat == each.beat and self._monotonic() - since > lease:
            return True
        return not each.beat and self._clock() - each.since_ms > 1_000 * (lease + _SKEW_SECONDS)

    def _note(self, every: Sequence[Activity]) -> None:
        """Remember which beats have moved."""
        now = self._monotonic()
        self._seen = {
            each.id: seen if (seen := self._seen.get(each.id)) and seen[0] == each.beat else (each.beat, now)
            for each in every
        }

    def _serial(self) -> int:
        return rows.serial_of(row_at(self._client, self._table, rows.serial_key(self._side)))

    def _rows(self) -> list[Mapping[str, Any]]:
        """Rows of activities and wishes."""
        found = queried(
            self._client,
            self._table,
            KeyConditionExpression=f"{TENANT} = :p",
            ExpressionAttributeValues={":p": {"S": rows.partition(self._side)}},
        )
        return [row for row in found if rows.kind_of(row) in (ACTIVITY, WISH)]


def _read(row: Mapping[str, Any]) -> _Row:
    return rows.kind_of(row), rows.read(row)
