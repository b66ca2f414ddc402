"""The permissions of each role. Pure."""

from enum import Enum, IntEnum
from typing import Final

from shared.contracts.api_answers.access import Role


class Action(Enum):
    """The kinds of action that routes perform."""

    KNOW = "know"
    """Open to everybody who is signed in: ask who it is, and take up an invitation."""

    READ = "read"
    WRITE = "write"
    TOKENS = "tokens"
    MEMBERS = "members"
    AUDIT = "audit"
    OPERATE = "operate"


class Verdict(IntEnum):
    """The answer, as the HTTP status of a refusal."""

    ALLOWED = 200
    FORBIDDEN = 403
    HIDDEN = 404


_RANK: Final = {role: rank for rank, role in enumerate(Role)}
_NEEDED: Final = {
    Action.KNOW: None,
    Action.READ: Role.VIEWER,
    Action.WRITE: Role.EDITOR,
    Action.TOKENS: Role.OWNER,
    Action.MEMBERS: Role.OWNER,
    Action.AUDIT: Role.OWNER,
    Action.OPERATE: Role.OPERATOR,
}


def may(role: Role | None, tenant: str | None, action: Action, target: str | None) -> Verdict:
    """Whether a caller may act.

    Args:
        role: of the caller; None for a person who is signed in, but without a role there.
        tenant: where it has that role; None for an operator.
        action: what is wanted.
        target: the tenant that it is wanted of; None for what belongs to no tenant.
    """
    if role is not Role.OPERATOR and target is not None and target != tenant:
        return Verdict.HIDDEN
    needed = _NEEDED[action]
    enough = needed is None or (role is not None and _RANK[role] >= _RANK[needed])
    return Verdict.ALLOWED if enough else Verdict.FORBIDDEN


def higher(one: Role, other: Role) -> Role:
    """The role of two that may more."""
    return max(one, other, key=lambda role: _RANK[role])


def may_grant(role: Role, granted: Role) -> bool:
    """Whether a holder of one role may give another: never above the own."""
    return _RANK[role] >= _RANK[granted]
