"""What a sender sends: bundles of events, one a request."""

from typing import Final, Protocol

from msgspec import Struct

BATCH: Final = "application/cloudevents-batch+json"
LINES: Final = "application/x-ndjson"
PLAIN: Final = "application/json"


class EventBatch(Struct, frozen=True, kw_only=True):
    """The events of one request."""

    ids: list[str]
    """In the order of the body; empty where the reply tells them."""

    body: bytes
    count: int
    """Events in the body."""


class EventSource(Protocol):
    """Where bundles come from."""

    @property
    def content_type(self) -> str:
        """Of every body."""

    def take(self, count: int, time_ms: int) -> EventBatch | None:
        """At most `count` events, stamped with a time (epoch ms) where they are stamped; None at the end."""
