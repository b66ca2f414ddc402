"""Parts of the management API's answers that its clients decode."""

from msgspec import Struct


class FieldError(Struct, frozen=True, kw_only=True):
    """One invalid field of what was sent, with the fix."""

    document: str = ""
    """`kind/name`; or `event`, `request` of what is only tried."""

    pointer: str
    """JSON pointer (RFC 6901) into the document."""

    detail: str
    fix: str = ""


class RolloutView(Struct, frozen=True, kw_only=True):
    """How far a pipe with a rollout is opened."""

    state: str
    step: int
    share: float
    """Of the pipe's events, 0 to 1."""

    since_ms: int
    """Since when it is at this step, epoch milliseconds."""

    reason: str = ""
    next_ms: int | None = None
    """When its next step begins, epoch milliseconds; None if there is none, or it is not known."""
