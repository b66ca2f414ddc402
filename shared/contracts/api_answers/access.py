"""Who may do what: tokens, write keys, tenants and members."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from shared.contracts.write_keys import WriteKey


class Role(StrEnum):  # in answers it is a text: a newer API may have others
    """The rights of a token or a member; each role includes those of the roles before it."""

    VIEWER = "viewer"
    EDITOR = "editor"
    OWNER = "owner"
    OPERATOR = "operator"


class MembershipView(Struct, frozen=True):
    """A role in a tenant."""

    tenant: str
    role: str


class Identity(Struct, frozen=True, kw_only=True):
    """Who a caller is. Role and tenant are the operator's, or those of the only tenant; else None."""

    id: str
    label: str = ""
    role: str | None = None
    tenant: str | None = None
    expires_ms: int | None = None
    last_four: str | None = None
    """Of the token."""

    issuer: str | None = None
    """Of a person whom it signed in; None for a token of hifi."""

    tenants: Sequence[MembershipView] = ()


class TokenView(Struct, frozen=True, kw_only=True):
    """A token, whose text is in no answer but the first."""

    id: str
    role: str
    tenant: str | None
    """None: an operator's."""

    label: str
    last_four: str
    made_ms: int
    made_by: str
    expires_ms: int | None
    """None is never."""

    member: bool = False
    """A member's personal token: its role is the member's, who is listed and removed among the members."""


class NewToken(TokenView, frozen=True, kw_only=True):
    """A token that was just made."""

    token: str
    """Its text."""


class NewKey(WriteKey, frozen=True, kw_only=True):
    """A write key that was just made."""

    key: str
    """Its text."""


class MadeTenant(Struct, frozen=True, kw_only=True):
    """A tenant that an operator made."""

    tenant: str
    made_ms: int
    made_by: str


class MemberView(Struct, frozen=True, kw_only=True):
    """A person with a role in a tenant."""

    id: str
    """Of the person, or of the personal token."""

    role: str
    label: str
    since_ms: int
    invited_by: str
    issuer: str | None = None
    """Who signs the person in; None for one with a personal token."""

    subject: str | None = None


class InvitationView(Struct, frozen=True, kw_only=True):
    """An open invitation."""

    id: str
    tenant: str
    role: str
    label: str
    made_ms: int
    made_by: str
    expires_ms: int


class NewInvitation(InvitationView, frozen=True, kw_only=True):
    """An invitation that was just made."""

    invitation: str
    """Its text."""


class LeftAccess(Struct, frozen=True, kw_only=True):
    """Tokens and invitations that a member made who has not got the right to any more."""

    tokens: Sequence[TokenView]
    """Valid ones."""

    invitations: Sequence[InvitationView]
    """Open ones."""

    revoked: bool
    """Whether they are ended; False: they go on working."""


class ChangedMember(MemberView, frozen=True, kw_only=True):
    """A member with another role, and what it had made that is above it: see LeftAccess."""

    tokens: Sequence[TokenView]
    invitations: Sequence[InvitationView]
    revoked: bool


class Redeemed(Struct, frozen=True, kw_only=True):
    """The membership that an invitation gave."""

    id: str
    """Of the person, or of the personal token."""

    label: str
    tenant: str
    role: str
    token: str | None
    """A personal token, if no issuer signs people in."""
