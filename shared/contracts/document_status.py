"""How far each side is with a document, as the provisioner says it in the table `documents`. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from shared.contracts.document_items import DocumentVersion

GONE_MS: Final = 24 * 3_600_000
"""A side of which no provisioner was at work for so long is waited for no more: it was destroyed."""


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


def current(
    stored: DocumentVersion,
    spoken: Mapping[str, DocumentStatus],
    seen: Mapping[str, int | None],
    now_ms: int,
) -> dict[str, DocumentStatus]:
    """How far each side is with the newest version of a document.

    It is pending on a side that has not spoken of this version, unless the side is gone.

    Args:
        stored: the newest version.
        spoken: by side, what it said of the document last.
        seen: by side, when its provisioner was last at work, epoch milliseconds; None if that does not say
            so, as in an older version of hifi: then only what it said counts.
        now_ms: now, epoch milliseconds.
    """
    said = {side: status for side, status in spoken.items() if status.version >= stored.version}
    gone = {side for side, at_ms in seen.items() if at_ms is not None and now_ms - at_ms >= GONE_MS}
    awaited = {side for side, at_ms in seen.items() if at_ms is not None} | spoken.keys()
    pending = DocumentStatus(state=State.PENDING, version=stored.version, since_ms=stored.at_ms)
    return {side: said.get(side, pending) for side in sorted(said.keys() | (awaited - gone))}
