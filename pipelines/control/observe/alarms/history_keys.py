"""The keys of what alarms remember: parts of text, in one. Pure."""

from typing import Final

from shared.contracts.documents import TenantName
from shared.contracts.scorecard import HopRow, MinuteCard

_SEPARATOR: Final = "\x1f"


def loss_key(card: MinuteCard, row: HopRow) -> str:
    """The key of one minute's loss at one hop."""
    return f"{minute_key(card.tenant, card.minute)}{_SEPARATOR}{row.node}{_SEPARATOR}{row.pipe}"


def minute_key(tenant: str, minute: int) -> str:
    """The key of a tenant's minute."""
    return name_key(tenant, str(minute))


def split_minute(key: str) -> tuple[str, int]:
    """Tenant and epoch minute of a `minute_key` or `loss_key`."""
    tenant, minute = key.split(_SEPARATOR)[:2]
    return tenant, int(minute)


def name_key(tenant: str, name: str) -> str:
    """The key of a pipe's backlog, or of a source."""
    return f"{tenant}{_SEPARATOR}{name}"


def split_name(key: str) -> TenantName:
    """Tenant and name of a `name_key`."""
    tenant, _, name = key.partition(_SEPARATOR)
    return tenant, name
