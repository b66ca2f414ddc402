"""Refusals: what is wrong with a request or an event, where, and how to fix it (RFC 9457 problem details)."""

from msgspec import Struct


class Refusal(Struct, frozen=True):
    """Why something was not taken."""

    detail: str
    """What is wrong, in a sentence."""

    field: str
    """The header or member at fault: `content-type`, `id`, `data`; `$` is the event as a whole."""

    fix: str
    """What the sender can do about it."""


class RefusedError(Exception):
    """A whole request that is not taken, whatever events it holds."""

    def __init__(
        self,
        status: int,
        refusal: Refusal,
        *,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """`headers` are those of the reply, beside its content type and length."""
        super().__init__(refusal.detail)
        self.status = status
        self.refusal = refusal
        self.headers = headers
        self.body_unread = False
        """Whether the client may still be sending its body."""


def malformed(detail: str, fix: str, field: str = "$") -> RefusedError:
    """A request that is wrong in itself: 400."""
    return RefusedError(400, Refusal(detail, field, fix))


def unavailable(detail: str, seconds: int) -> RefusedError:
    """A request that would be taken later: 503 with the seconds to wait."""
    fix = "send the same request again after the seconds in Retry-After; repeated events keep their id"
    return RefusedError(503, Refusal(detail, "$", fix), headers=(("retry-after", str(seconds)),))


def unread(error: RefusedError) -> RefusedError:
    """The same refusal, given before the body was read."""
    error.body_unread = True
    return error
