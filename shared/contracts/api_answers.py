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
