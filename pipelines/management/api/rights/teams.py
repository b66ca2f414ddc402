"""The members of a tenant, and who may still be invited. Pure."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from pipelines.management.api.rights.permissions import higher
from shared.contracts.api_answers.access import InvitationView, MembershipView, MemberView, Role

MOST_MEMBERS: Final = 200
"""Most members of a tenant: they are one item of the table, which each request of a member reads."""

MOST_INVITATIONS: Final = 200
"""Most open invitations of a tenant."""


class Member(MemberView, frozen=True, kw_only=True):
    """A member as the table has it."""

    role: Role
    token_key: str | None = None
    """Sort key of the personal token."""


class Team(Struct, frozen=True, kw_only=True):
    """The members of one tenant: one item, so that each change is made on exactly what was read."""

    revision: int = 0
    members: Mapping[str, Member] = {}


class Invitation(InvitationView, frozen=True, kw_only=True):
    """An invitation's row in the table; the text is known to the invited only."""

    role: Role


class Membership(MembershipView, frozen=True):
    """A role in a tenant."""

    role: Role


class TeamError(Exception):
    """A change that a team does not allow; the text says why, and what to do."""


class NoMemberError(Exception):
    """The tenant has not got this member."""


def joined(team: Team, member: Member) -> Team:
    """The team with one more. Who is in it already keeps the higher role.

    Raises:
        TeamError: if it is full.
    """
    there = team.members.get(member.id)
    if there is not None:
        member = replace(there, role=higher(there.role, member.role), label=member.label)
    elif len(team.members) >= MOST_MEMBERS:
        raise TeamError(f"the tenant has {MOST_MEMBERS} members, which is the most; remove one first")
    return _with(team, member)


def with_role(team: Team, member_id: str, role: Role, *, by_operator: bool) -> Team:
    """The team with another role of a member.

    Raises:
        NoMemberError: if that is not a member.
        TeamError: if no owner would be left.
    """
    return _led(team, _with(team, replace(_member(team, member_id), role=role)), by_operator)


def without(team: Team, member_id: str, *, by_operator: bool) -> Team:
    """The team without a member; raises as `with_role` does."""
    gone = _member(team, member_id).id
    left = {each: member for each, member in team.members.items() if each != gone}
    return _led(team, replace(team, revision=team.revision + 1, members=left), by_operator)


def owners(team: Team) -> int:
    """How many owners a team has."""
    return sum(each.role is Role.OWNER for each in team.members.values())


def _member(team: Team, member_id: str) -> Member:
    if member_id not in team.members:
        raise NoMemberError
    return team.members[member_id]


def _with(team: Team, member: Member) -> Team:
    return replace(team, revision=team.revision + 1, members={**team.members, member.id: member})


def _led(before: Team, after: Team, by_operator: bool) -> Team:
    """Refuse to take the last owner away."""
    if owners(before) and not owners(after) and not by_operator:
        raise TeamError("this is the last owner; make another member an owner first, or ask an operator")
    return after
