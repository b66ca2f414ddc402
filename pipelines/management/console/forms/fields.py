"""The fields of a form, from the JSON Schema of what it edits. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec import Struct

from shared.contracts.documents import Contact, Destination, Pipe, Source

Schema = Mapping[str, Any]
OPTIONS: Final = "options"
_OF_PATH: Final = frozenset({"kind", "name", "tenant"})
"""Given by the page's address."""

_OF_SERVER: Final = frozenset({"write_keys"})
"""The server makes them, and the document holds only digests."""

_STRUCTS: Final[Mapping[str, type[Struct]]] = {
    "sources": Source,
    "destinations": Destination,
    "pipes": Pipe,
    "contacts": Contact,
}

_HINTS: Final[Mapping[str, str]] = {
    "/rate_limit": "Events per second for each collect process. Empty: no limit.",
    "/source": "The source of the events.",
    "/destination": "Where the events go.",
    "/match": "An event pattern in YAML, for example  type: [order.placed]. Empty: every event.",
    "/sample": "Percentage of the matching events.",
    "/ramp/start": "With its offset, for example 2026-01-31T12:00:00Z. Empty: no ramp.",
    "/ramp/minutes": "From 0 to the sample in so many minutes.",
    "/rollout/steps": "Shares that rise to 100, for example  [1, 10, 50, 100]. Empty: open at once.",
    "/rollout/every": "How long a step lasts at least: 30s, 5m, 2h or 1d. Empty: 5m.",
    "/rollout/at_least": "Events that a step needs. Empty: 100.",
    "/rollout/stop_below": "It stops if fewer percent are good. Empty: 95.",
    "/rollout/stop_above": "It stops if more percent become dead letters. Empty: 1.",
    "/masks": "A YAML list of places, for example  - {path: $.data.email, action: redact}.",
    "/watch": "A YAML list of fields, for example  - {field: data.score, kind: distribution}.",
    "/transform": "A JMESPath expression over the event; its result is the new data. Empty: unchanged.",
    "/connector": "What speaks to the destination.",
    "/options": "The connector's options in YAML.",
    "/batch/max_events": "Most events of one request.",
    "/batch/max_bytes": "Most bytes of one request.",
    "/timeout_seconds": "Deadline of one try.",
    "/limits/requests": "Requests at the same time. Each of several sending workers makes at least one.",
    "/limits/rate": "Events per second. Empty: no limit.",
    "/webhook": "An https URL, told of failures that only you can repair. Empty: e-mail only.",
    "/email": "An address, told of the same. Empty: webhook only.",
    "/secret": "Signs the webhook's requests, for example secret://TENANT/alarms. Empty: unsigned.",
}


class Shape(StrEnum):
    """How a field is typed in."""

    TEXT = "text"
    LONG = "long"
    INTEGER = "integer"
    NUMBER = "number"
    FLAG = "flag"
    CHOICE = "choice"
    YAML = "yaml"


class Field(Struct, frozen=True, kw_only=True):
    """One field of a form."""

    path: tuple[str, ...]
    shape: Shape
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    hint: str = ""

    @property
    def pointer(self) -> str:
        """Its JSON pointer (RFC 6901)."""
        return pointer_of(self.path)

    @property
    def label(self) -> str:
        """Its name on the page."""
        words = self.path[-1].replace("_", " ")
        return words[:1].upper() + words[1:] + (" *" if self.required else "")


def pointer_of(path: Sequence[str]) -> str:
    """The JSON pointer of a path."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


def document_fields(kind: str, options: Schema | None = None) -> list[Field]:
    """The fields of a kind of document (in the plural); `options`: the schema of its connector's."""
    schema = msgspec.json.schema(_STRUCTS[kind])
    found = list(_fields(schema, schema, (), required=True))
    shown = [each for each in found if each.path[0] not in _OF_PATH | _OF_SERVER]
    if options is not None:
        of_connector = _fields(options, options, (OPTIONS,), required=True)
        shown = [*(each for each in shown if each.path != (OPTIONS,)), *of_connector]
    return sorted(shown, key=_group_order)


def _group_order(field: Field) -> int:
    """The document's own fields come first, then its connector's options, then the other parts."""
    if len(field.path) == 1:
        return 0
    return 1 if field.path[0] == OPTIONS else 2


def _fields(schema: Schema, root: Schema, path: tuple[str, ...], *, required: bool) -> Iterator[Field]:
    plain = _plain(schema, root)
    properties = plain.get("properties")
    if plain.get("type") == "object" and isinstance(properties, Mapping) and properties:
        must = plain.get("required", ())
        for name, each in properties.items():
            yield from _fields(each, root, (*path, name), required=required and name in must)
    else:
        yield _field(plain, path, required)


def _plain(schema: Schema, root: Schema) -> Schema:
    """The schema without references and without null as an alternative."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        found = root.get("$defs", {}).get(reference.rpartition("/")[2], {})
        return {**_plain(found, root), **{key: schema[key] for key in ("default",) if key in schema}}
    others = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if len(others) == 1:
        return {**{key: value for key, value in schema.items() if key != "anyOf"}, **_plain(others[0], root)}
    return schema


_LONG: Final = frozenset({"/transform"})
_SHAPES: Final = {
    "string": Shape.TEXT,
    "integer": Shape.INTEGER,
    "number": Shape.NUMBER,
    "boolean": Shape.FLAG,
}


def _field(schema: Schema, path: tuple[str, ...], required: bool) -> Field:
    choices = schema.get("enum")
    shape = _SHAPES.get(str(schema.get("type")), Shape.YAML)
    if choices is not None and all(isinstance(each, str) for each in choices):
        shape = Shape.CHOICE
    if pointer_of(path) in _LONG:
        shape = Shape.LONG
    return Field(
        path=path,
        shape=shape,
        required=required,
        default=schema.get("default"),
        choices=tuple(choices or ()) if shape is Shape.CHOICE else (),
        hint=_HINTS.get(pointer_of(path)) or str(schema.get("description", "")).partition("\n")[0],
    )
