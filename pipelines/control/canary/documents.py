"""The canary's documents: one source, and a pipe of each kind, each with its own destination. Pure."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from shared.contracts.document_parsing import parse
from shared.contracts.documents import CANARY, Document
from shared.contracts.masks import REDACTED

KIND: Final = "song"
CARD: Final = "4111 1111 1111 1111"
NOTE: Final = "must not leave hifi"


class CanaryEvent(Struct, kw_only=True):
    """The data of a canary event, as sent or as received; fields that a pipe removed are None."""

    id: str
    sent_ms: int
    kind: str | None = None
    card: str | None = None
    note: str | None = None


class CanaryPipe(Struct, frozen=True, kw_only=True):
    """A pipe of the canary and its destination."""

    kind: str
    format: str
    """Format of the webhook connector."""

    options: dict[str, Any] = {}
    """Options of the pipe document."""

    takes: dict[str, str | None] = {}
    """Fields that the pipe changes, with the expected values."""

    @property
    def name(self) -> str:
        """Name of the pipe and of its destination."""
        return f"{CANARY}-{self.kind}"

    def right(self, event: CanaryEvent) -> bool:
        """Whether a received event is what this pipe should produce."""
        sent = {"id": event.id, "sent_ms": event.sent_ms, "kind": KIND, "card": CARD, "note": NOTE}
        return msgspec.structs.asdict(event) == sent | self.takes


PIPES: Final = (
    CanaryPipe(kind="plain", format="batch"),
    CanaryPipe(kind="pattern", format="array", options={"match": {"data": {"kind": [KIND]}}}),
    CanaryPipe(
        kind="masks",
        format="ndjson",
        options={
            "masks": [{"path": "$.data.card", "action": "redact"}, {"path": "$.data.note", "action": "drop"}]
        },
        takes={"card": REDACTED, "note": None},
    ),
    CanaryPipe(
        kind="transform",
        format="event",
        options={"transform": "data.{id: id, sent_ms: sent_ms}"},
        takes={"kind": None, "card": None, "note": None},
    ),
    CanaryPipe(kind="sample", format="batch", options={"sample": 100.0}),
)
"""Every format of the webhook connector, and every kind of pipe that passes all events."""


def documents(base_url: str, write_key: str) -> list[Document]:
    """All documents. Destinations are paths below `base_url` and have the names of their pipes."""
    found = [parse({"kind": "source", "name": CANARY, "tenant": CANARY, "write_keys": [write_key]})]
    for canary in PIPES:
        shared = {"name": canary.name, "tenant": CANARY}
        options = {"url": f"{base_url.rstrip('/')}/{canary.kind}", "format": canary.format}
        found.append(parse({"kind": "destination", **shared, "options": options}))
        pipe = {"source": CANARY, "destination": canary.name, **canary.options}
        found.append(parse({"kind": "pipe", **shared, **pipe}))
    return found
