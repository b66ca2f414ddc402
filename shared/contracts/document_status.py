"""How far each side is with a document, as the provisioner says it in the table `documents`. Pure."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from shared.contracts.document_items import DocumentVersion


class State(StrEnum):
    """How far a side is with a version."""

    PENDING = "pending"
    """It is not on the side's topic yet."""

    HELD = "held"
    """It is kept from the topic for a reason."""

    PUBLISHED = "published"
    """It is on the topic; not every node uses it yet."""

    IN_FORCE = "in force"
    """Every node that needs it uses it."""


class DocumentStatus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far one side is with a document."""

    state: State
    version: int
    """The version that `state` is said of."""

    since_ms: int
    """Since when, epoch milliseconds."""

    reason: str = ""

    def says(self, other: "DocumentStatus | None") -> bool:
        """Whether another one says the same, whenever it began."""
        return other is not None and (self.state, self.version, self.reason) == (
            other.state,
            other.version,
            other.reason,
        )


def status_partition(tenant: str) -> str:
    """Partition of the status items of a tenant's documents."""
    return f"status#{tenant}"


def status_key(document: str, side: str) -> str:
    """Sort key of a side's status of a document, `kind/name`."""
    return f"{document}/{side}"


def document_and_side(sort: str) -> tuple[str, str]:
    """The `kind/name` and the side in a sort key."""
    document, _, side = sort.rpartition("/")
    return document, side


def current(stored: DocumentVersion, sides: Mapping[str, DocumentStatus]) -> dict[str, DocumentStatus]:
    """The status of the newest version, which is pending while a side has only spoken of an earlier one."""
    return {
        side: status
        if status.version >= stored.version
        else DocumentStatus(state=State.PENDING, version=stored.version, since_ms=stored.at_ms)
        for side, status in sides.items()
    }
