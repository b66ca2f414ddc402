"""Sources of events for a sender, one batch per request."""

from typing import Final, Protocol

from msgspec import Struct

BATCH: Final = "application/cloudevents-batch+json"
LINES: Final = "application/x-ndjson"
PLAIN: Final = "application/json"


class EventBatch(Struct, frozen=True, kw_only=True):
    """The events of one request."""

    ids: list[str]
    """Ids in the order of the body; empty if only the response has them."""

    body: bytes
    count: int
    """Events in the body."""


class EventSource(Protocol):
    """A source of batches."""

    @property
    def content_type(self) -> str:
        """Content type of every body."""

    def take(self, count: int, time_ms: int) -> EventBatch | None:
        """At most `count` events, with this time (epoch ms) if they are stamped; None at the end.

        It does not block: without an event yet the batch is empty.
        """
