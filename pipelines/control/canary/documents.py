"""The canary's own documents: one source, and a pipe of each kind, each to a destination of its own. Pure."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from shared.contracts.documents import CANARY, Document, parse
from shared.contracts.masks import REDACTED

KIND: Final = "song"
CARD: Final = "4111 1111 1111 1111"
NOTE: Final = "for nobody's eyes"


class CanaryEvent(Struct, kw_only=True):
    """The data of a canary's event, and what arrives of it; what a pipe takes away is None."""

    id: str
    sent_ms: int
    kind: str | None = None
    card: str | None = None
    note: str | None = None


class CanaryPipe(Struct, frozen=True, kw_only=True):
    """A pipe of the canary and its destination."""

    kind: str
    format: str
    """The webhook connector's."""

    options: dict[str, Any] = {}
    """Of the pipe."""

    takes: dict[str, str | None] = {}
    """Fields of a song that do not arrive as they were sent, and what they are then."""

    @property
    def name(self) -> str:
        """Of the pipe and the destination."""
        return f"{CANARY}-{self.kind}"

    def right(self, event: CanaryEvent) -> bool:
        """Whether a song that arrived is what this pipe should make of it."""
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
"""Every format of the webhook connector, and every kind of pipe that takes all it is given."""


def documents(base_url: str, write_key: str) -> list[Document]:
    """All of them; destinations are paths below `base_url`, a base URL, and named as their pipes."""
    found = [parse({"kind": "source", "name": CANARY, "tenant": CANARY, "write_keys": [write_key]})]
    for canary in PIPES:
        shared = {"name": canary.name, "tenant": CANARY}
        options = {"url": f"{base_url.rstrip('/')}/{canary.kind}", "format": canary.format}
        found.append(parse({"kind": "destination", **shared, "options": options}))
        pipe = {"source": CANARY, "destination": canary.name, **canary.options}
        found.append(parse({"kind": "pipe", **shared, **pipe}))
    return found
