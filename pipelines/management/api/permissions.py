"""Who may do what. Pure."""

from enum import Enum, IntEnum, StrEnum
from typing import Final


class Role(StrEnum):
    """What a token may do; each may all that the ones before it may."""

    VIEWER = "viewer"
    EDITOR = "editor"
    OWNER = "owner"
    OPERATOR = "operator"


class Action(Enum):
    """What routes do."""

    READ = "read"
    WRITE = "write"
    TOKENS = "tokens"
    AUDIT = "audit"
    OPERATE = "operate"


class Verdict(IntEnum):
    """The answer, as the HTTP status of a refusal."""

    ALLOWED = 200
    FORBIDDEN = 403
    HIDDEN = 404


_RANK: Final = {role: rank for rank, role in enumerate(Role)}
_NEEDED: Final = {
    Action.READ: Role.VIEWER,
    Action.WRITE: Role.EDITOR,
    Action.TOKENS: Role.OWNER,
    Action.AUDIT: Role.OWNER,
    Action.OPERATE: Role.OPERATOR,
}


def may(role: Role, tenant: str | None, action: Action, target: str | None) -> Verdict:
    """Whether a token's holder may act.

    Args:
        role: of the token.
        tenant: the token's; None for an operator.
        action: what is wanted.
        target: the tenant that it is wanted of; None for what belongs to no tenant.
    """
    if role is not Role.OPERATOR and target is not None and target != tenant:
        return Verdict.HIDDEN
    return Verdict.ALLOWED if _RANK[role] >= _RANK[_NEEDED[action]] else Verdict.FORBIDDEN


def may_grant(role: Role, granted: Role) -> bool:
    """Whether a holder of one role may make a token of another: never above the own."""
    return _RANK[role] >= _RANK[granted]
