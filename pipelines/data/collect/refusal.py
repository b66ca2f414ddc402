"""How collect says no: what is wrong, where, and how to mend it."""

from msgspec import Struct


class Refusal(Struct, frozen=True):
    """Why something was not taken."""

    error: str
    """What is wrong, in a sentence."""

    field: str
    """The header or member at fault: `content-type`, `id`, `data`; `$` is the event as a whole."""

    mend: str
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
        super().__init__(refusal.error)
        self.status = status
        self.refusal = refusal
        self.headers = headers
        self.body_unread = False
        """Whether the client may still be sending its body."""


def malformed(error: str, mend: str, field: str = "$") -> RefusedError:
    """A request that is wrong in itself: 400."""
    return RefusedError(400, Refusal(error, field, mend))


def unavailable(error: str, seconds: int) -> RefusedError:
    """A request that would be taken later: 503 with the seconds to wait."""
    mend = "send the same request again after the seconds in Retry-After; repeated events keep their id"
    return RefusedError(503, Refusal(error, "$", mend), headers=(("retry-after", str(seconds)),))


def unread(error: RefusedError) -> RefusedError:
    """The same refusal, given before the body was read."""
    error.body_unread = True
    return error
