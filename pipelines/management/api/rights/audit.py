"""The audit log: every write that was done or may have been, and refused ones by who was refused and why."""

import hashlib
import secrets
import threading
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from pipelines.management.api.rights.callers import Caller
from pipelines.management.api.rights.refusals import Refusals
from shared.contracts.api_answers.access import Role
from shared.dynamodb.client import StoreError
from shared.dynamodb.item_store import ItemStore
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_SHOWN: Final = 300
_LOCKS: Final = 64


class AuditRow(Struct, frozen=True, kw_only=True):
    """One request that wanted to write, or the refused ones of a caller, a status and a minute."""

    at_ms: int
    token: str
    """Id of the token, or of the person."""

    label: str = ""
    """Its label for people to read: a member who was removed is in no other list."""

    role: str
    """Empty for a person without a role there."""

    method: str
    path: str
    status: int
    detail: str = ""
    count: int = 1
    """Requests that it stands for, at least; above 16 it grows each time when they have doubled.

    The other columns are those of one of them.
    """


def partition(tenant: str | None) -> str:
    """Where a tenant's rows are; None: those of no tenant."""
    return f"audit#{tenant or ''}"


def owner_of(caller: Caller, target: str | None) -> str | None:
    """The tenant that has a request in its log: the target for an operator, else the caller's tenant.

    What a caller tried in another tenant stays out of that tenant's sight, and the other way round; what a
    person without a role there tried belongs to the operators.
    """
    return target if caller.role is Role.OPERATOR else caller.tenant


class AuditLog:
    """Writes rows and log lines."""

    def __init__(self, items: ItemStore[AuditRow]) -> None:
        self._items = items
        self._refusals = Refusals()
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        self._process = secrets.token_hex(4)

    def record(self, caller: Caller, target: str | None, row: AuditRow) -> None:
        """Keep the row of a write that was done, or failed and may have been done.

        A store that fails now leaves the log line: the write itself is done already.
        """
        self._keep(caller, target, f"{row.at_ms:015d}-{secrets.token_hex(4)}", row)

    def refused(self, caller: Caller, target: str | None, row: AuditRow) -> None:
        """Count a request of which nothing was done."""
        reason = (partition(owner_of(caller, target)), row.token, row.status)
        name = hashlib.sha256(f"{self._process} {row.token} {row.status}".encode()).hexdigest()[:8]
        with self._locks[hash(reason) % _LOCKS]:  # or a lower count could be written over a higher one
            counted = self._refusals.counted(reason, row.at_ms)
            if counted is not None:
                at_ms, count = counted
                self._keep(caller, target, f"{at_ms:015d}-{name}", replace(row, at_ms=at_ms, count=count))

    def without_token(self, method: str, status: int, at_ms: int) -> None:
        """Write a log line only; otherwise a caller without a token could fill the table."""
        counted = self._refusals.counted((method, status), at_ms)
        if counted is not None:
            fields = {"method": method, "status": status, "count": counted[1]}
            _log.info("refused without a token", extra=fields)

    def _keep(self, caller: Caller, target: str | None, sort: str, row: AuditRow) -> None:
        fields = {name: getattr(row, name) for name in row.__struct_fields__}
        _log.info("audit", extra={**fields, "tenant": owner_of(caller, target)})
        if caller.stranger:
            return
        try:
            self._items.put(partition(owner_of(caller, target)), sort, row)
        except StoreError as error:
            _log.error("audit row cannot be kept", extra={"error": str(error)})

    def page(self, tenant: str | None, after: str | None, limit: int) -> tuple[list[AuditRow], str | None]:
        """A tenant's rows, newest first, and where to go on; None gives those of no tenant."""
        rows, following = self._items.page(partition(tenant), after, limit, forward=False)
        return [row for _, row in rows], following


def row_of(  # noqa: PLR0913  # the columns
    caller: Caller, method: str, path: str, *, status: int, at_ms: int, detail: str
) -> AuditRow:
    """The row of a request."""
    return AuditRow(
        at_ms=at_ms,
        token=caller.id,
        label=caller.label,
        role=caller.role or "",
        method=method,
        path=path[:_SHOWN],
        status=status,
        detail=detail[:_SHOWN],
    )
