"""Why an event is refused, where the error is, and how to fix it."""

from msgspec import Struct


class Refusal(Struct, frozen=True):
    """Why an event, or a request with events, is refused."""

    detail: str
    """The fault, in a sentence."""

    field: str
    """The header or member at fault: `content-type`, `id`, `data`; `$` is the event as a whole."""

    fix: str
    """The fix that the sender can make."""
