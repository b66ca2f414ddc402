"""The audit log: every write and every refused one."""

import secrets
from typing import Final

from msgspec import Struct

from pipelines.management.api.tokens import Token
from shared.dynamodb.client import StoreError
from shared.dynamodb.item_store import ItemStore
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_SHOWN: Final = 300


class AuditRow(Struct, frozen=True, kw_only=True):
    """One request that wanted to write."""

    at_ms: int
    token: str
    """Id of the token."""

    role: str
    method: str
    path: str
    status: int
    detail: str = ""


def partition(tenant: str | None) -> str:
    """Where a tenant's rows are; those of nobody's tenant are in one of their own."""
    return f"audit#{tenant or ''}"


def owner_of(token: Token, target: str | None) -> str | None:
    """In whose log a request belongs: the target's for an operator, else the token's own tenant's.

    What a token tried in another tenant stays out of that tenant's sight, and the other way round.
    """
    return target if token.tenant is None else token.tenant


class AuditLog:
    """Writes rows and log lines."""

    def __init__(self, items: ItemStore[AuditRow]) -> None:
        self._items = items

    def record(self, token: Token, target: str | None, row: AuditRow) -> None:
        """Keep a row. A store that fails now leaves the log line: the write itself is done already."""
        fields = {name: getattr(row, name) for name in row.__struct_fields__}
        _log.info("audit", extra={**fields, "tenant": owner_of(token, target)})
        try:
            sort = f"{row.at_ms:015d}-{secrets.token_hex(4)}"
            self._items.put(partition(owner_of(token, target)), sort, row)
        except StoreError as error:
            _log.error("audit row cannot be kept", extra={"error": str(error)})

    def page(self, tenant: str, after: str | None, limit: int) -> tuple[list[AuditRow], str | None]:
        """A tenant's rows, newest first, and where to go on."""
        rows, following = self._items.page(partition(tenant), after, limit, forward=False)
        return [row for _, row in rows], following


def row_of(  # noqa: PLR0913  # the columns
    token: Token, method: str, path: str, *, status: int, at_ms: int, detail: str
) -> AuditRow:
    """The row of a request."""
    return AuditRow(
        at_ms=at_ms,
        token=token.id,
        role=token.role,
        method=method,
        path=path[:_SHOWN],
        status=status,
        detail=detail[:_SHOWN],
    )
