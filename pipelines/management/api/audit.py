"""The audit log: every write and every refused one."""

import secrets
from typing import Final

from msgspec import Struct

from pipelines.management.api.callers import Caller
from pipelines.management.api.permissions import Role
from shared.dynamodb.client import StoreError
from shared.dynamodb.item_store import ItemStore
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_SHOWN: Final = 300


class AuditRow(Struct, frozen=True, kw_only=True):
    """One request that wanted to write."""

    at_ms: int
    token: str
    """Id of the token, or of the person."""

    label: str = ""
    """What people see of it: a member who was removed is in no other list."""

    role: str
    """Empty for a person without a role there."""

    method: str
    path: str
    status: int
    detail: str = ""


def partition(tenant: str | None) -> str:
    """Where a tenant's rows are; those of nobody's tenant are in one of their own."""
    return f"audit#{tenant or ''}"


def owner_of(caller: Caller, target: str | None) -> str | None:
    """In whose log a request belongs: the target's for an operator, else that of the caller's tenant.

    What a caller tried in another tenant stays out of that tenant's sight, and the other way round; what a
    person without a role there tried belongs to the operators.
    """
    return target if caller.role is Role.OPERATOR else caller.tenant


class AuditLog:
    """Writes rows and log lines."""

    def __init__(self, items: ItemStore[AuditRow]) -> None:
        self._items = items

    def record(self, caller: Caller, target: str | None, row: AuditRow) -> None:
        """Keep a row. A store that fails now leaves the log line: the write itself is done already."""
        fields = {name: getattr(row, name) for name in row.__struct_fields__}
        _log.info("audit", extra={**fields, "tenant": owner_of(caller, target)})
        if caller.stranger:
            return
        try:
            sort = f"{row.at_ms:015d}-{secrets.token_hex(4)}"
            self._items.put(partition(owner_of(caller, target)), sort, row)
        except StoreError as error:
            _log.error("audit row cannot be kept", extra={"error": str(error)})

    def page(self, tenant: str, after: str | None, limit: int) -> tuple[list[AuditRow], str | None]:
        """A tenant's rows, newest first, and where to go on."""
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
