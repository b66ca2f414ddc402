"""Invitations in the table, each under its digest, and an item under tenant and id that leads to it.

Older versions wrote no such item: their invitations can be redeemed until they expire, but not listed.
"""

from typing import Any

from pipelines.management.api.rights.teams import Invitation
from pipelines.management.api.rights.tenant_ids import is_id, sort_key
from shared.contracts.member_items import INVITATION_IDS, INVITATIONS
from shared.dynamodb.item_store import ItemStore

Kept = tuple[str, Invitation]
"""The digest of an invitation, and the invitation."""


class InvitationItems:
    """May be used from any thread; raises StoreError.

    The item of an invitation that is gone means nothing: what counts is under the digest.
    """

    def __init__(self, table: str, endpoint: str | None) -> None:
        """`endpoint` is the URL of DynamoDB Local; None is AWS."""
        self._invitations = ItemStore(table, endpoint, Invitation)
        self._digests = ItemStore(table, endpoint, str)

    def added(self, digest: str, invitation: Invitation) -> list[dict[str, Any]]:
        """The writes that add an invitation, as items of a transaction."""
        return [
            self._invitations.written(INVITATIONS, digest, invitation),
            self._digests.written(INVITATION_IDS, sort_key(invitation.tenant, invitation.id), digest),
        ]

    def removed(self, digest: str, invitation: Invitation) -> list[dict[str, Any]]:
        """The writes that delete an invitation, as items of a transaction, which fails if it is not there."""
        return [
            self._invitations.removed(INVITATIONS, digest, there=True),
            self._digests.removed(INVITATION_IDS, sort_key(invitation.tenant, invitation.id)),
        ]

    def open(self, digest: str, now_ms: int) -> Invitation | None:
        """The invitation with this digest; None if there is none, or it has expired: then it is deleted."""
        found = self._invitations.get(INVITATIONS, digest)
        return None if found is None or self._forgotten((digest, found), now_ms) else found

    def open_of(self, tenant: str, now_ms: int) -> list[Invitation]:
        """A tenant's open invitations in any order; those that have expired are deleted."""
        digests = [digest for _, digest in self._digests.all(INVITATION_IDS, sort_key(tenant, ""))]
        found = self._invitations.those(INVITATIONS, digests)
        return [each[1] for each in found if not self._forgotten(each, now_ms)]

    def one(self, tenant: str, invitation_id: str) -> Kept | None:
        """One of a tenant's invitations; None if there is none of that id."""
        if not is_id(invitation_id):
            return None
        digest = self._digests.get(INVITATION_IDS, sort_key(tenant, invitation_id))
        found = None if digest is None else self._invitations.get(INVITATIONS, digest)
        return None if digest is None or found is None else (digest, found)

    def _forgotten(self, kept: Kept, now_ms: int) -> bool:
        """Whether an invitation has expired; it is deleted then, unless another process just does."""
        expired = kept[1].expires_ms <= now_ms
        if expired:
            self._invitations.transact(self.removed(*kept))
        return expired
