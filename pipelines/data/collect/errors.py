"""Refusals of whole requests (RFC 9457 problem details)."""

from shared.cloudevents.refusal import Refusal


class RefusedError(Exception):
    """A request is refused as a whole."""

    def __init__(
        self,
        status: int,
        refusal: Refusal,
        *,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """`headers` of the response, in addition to content type and length."""
        super().__init__(refusal.detail)
        self.status = status
        self.refusal = refusal
        self.headers = headers
        self.body_unread = False
        """Whether the client may still be sending its body."""


def malformed(detail: str, fix: str, field: str = "$") -> RefusedError:
    """400: the request can never be accepted as it is."""
    return RefusedError(400, Refusal(detail, field, fix))


def unavailable(detail: str, seconds: int) -> RefusedError:
    """503: the same request can be accepted after `seconds`."""
    fix = "send it again after the seconds in Retry-After; events with an id are recognised by it"
    return RefusedError(503, Refusal(detail, "$", fix), headers=(("retry-after", str(seconds)),))


def unread(error: RefusedError) -> RefusedError:
    """The same refusal, given before the body was read."""
    error.body_unread = True
    return error
