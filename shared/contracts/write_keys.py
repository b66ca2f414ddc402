"""A write key as the management API lists it, for its clients."""

from msgspec import Struct


class WriteKey(Struct, frozen=True, kw_only=True):
    """A key of a source; of one that a document brought, only the id is known."""

    id: str
    label: str = ""
    last_four: str = ""
    made_ms: int | None = None
    made_by: str = ""
    used_ms: int | None = None
    """When a request last came with it, epoch milliseconds; up to ten minutes too early."""
