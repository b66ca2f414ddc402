"""Where members, invitations and tenants are in the table of documents: see .document_items. Pure."""

from typing import Final

TENANTS: Final = "tenants#"
"""Partition of the tenants that operators made."""

MEMBERS: Final = "members#"
"""Partition of the tenants' members, an item a tenant."""

INVITATIONS: Final = "invitations#"
"""Partition of the open invitations, by their digest."""

INVITATION_IDS: Final = "invitation_ids#"
"""Partition of their digests, by tenant and id."""


def memberships_partition(member_id: str) -> str:
    """Partition of the tenants that a member belongs to."""
    return f"memberships#{member_id}"
