"""Refusals, as RFC 9457 problem details."""

from collections.abc import Sequence

from msgspec import Struct


class FieldError(Struct, frozen=True, kw_only=True):
    """One invalid field of what was sent, with the fix."""

    document: str = ""
    """`kind/name`; or `event`, `request` of what is only tried."""

    pointer: str
    """JSON pointer (RFC 6901) into the document."""

    detail: str
    fix: str = ""


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request is refused, or something is not shown."""

    type: str
    title: str
    """The status's own words."""

    status: int
    detail: str
    errors: Sequence[FieldError] = ()
