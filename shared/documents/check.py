"""Finds all problems of one document, its connector's options included. Pure."""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

import msgspec

from shared.contracts.document_parsing import ConfigError, parse
from shared.contracts.documents import KINDS, Contact, Destination, Document, Pipe, Source
from shared.contracts.limits import MAX_DOCUMENT_DEPTH
from shared.documents.nesting import deeper_than
from shared.documents.options import option_fields, option_problems
from shared.documents.problems import MOST_PROBLEMS, FieldProblem, plain, shown, unknown_within
from shared.runtime.errors import did_you_mean

_TYPES: Final[Mapping[str, type[Document]]] = {
    "source": Source,
    "destination": Destination,
    "pipe": Pipe,
    "contact": Contact,
}
_FIXES: Final = {
    "name": "at most 63 lower-case letters, digits, '.', '_' and '-', a letter or digit first",
    "write_keys": "a list of keys of at least 8 characters, for example one of `openssl rand -hex 24`",
    "sample": "a percentage from 0 to 100",
    "ramp": "a start and minutes, for example {start: 2026-01-31T12:00:00Z, minutes: 30}",
    "rollout": "shares that rise to 100, for example {steps: [1, 10, 50, 100], every: 5m, at_least: 100}",
    "masks": "a list, for example [{path: $.data.user.email, action: redact}], or drop, or hash",
    "watch": "a list of at most five, for example [{field: data.score, kind: distribution}], or categories",
    "transform": "a JMESPath expression, for example data.{order: id, total: sum(items[].price)}",
    "webhook": "an https URL, for example https://example.com/hifi",
    "email": "an address, for example ops@example.com",
    "secret": "the name of a secret, never the secret itself, for example secret://shop/alarms",
    "match": "an event pattern, for example {type: [video.error]}",
}
_NAMES: Final = ("name", "tenant", "source", "destination")


def field_problems(raw: object) -> Iterator[FieldProblem]:
    """Reasons why `parse` would refuse a document, at most MOST_PROBLEMS; none if it would accept it."""
    if not isinstance(raw, dict):
        yield "$", f"a document is a mapping, not {_called(raw)}", "start it with `kind: source`, for example"
        return
    deep = list(islice(_deep(raw), MOST_PROBLEMS))
    if deep:
        yield from deep
        return
    kind = raw.get("kind")
    if kind not in KINDS:
        yield _kind_fault(kind)
        return
    options = option_problems(raw) if kind == "destination" else ()
    found = list(islice(chain(_field_faults(_TYPES[str(kind)], raw), options), MOST_PROBLEMS))
    yield from found or _last_faults(raw)


def _deep(raw: Mapping[Any, Any]) -> Iterator[FieldProblem]:
    """Fields that nothing else may look into: it would recurse too far."""
    for name, value in raw.items():
        if deeper_than(value, MAX_DOCUMENT_DEPTH - 1):
            yield f"$.{name}", f"nested more than {MAX_DOCUMENT_DEPTH} levels deep", "write it flatter"


def _kind_fault(kind: object) -> FieldProblem:
    if kind is None:
        return "$", "the document has no kind", f"add `kind:` with one of {', '.join(KINDS)}"
    return "$.kind", f"unknown kind {shown(kind)}", did_you_mean(str(kind), KINDS)


def _field_faults(struct: type[Document], raw: Mapping[Any, Any]) -> Iterator[FieldProblem]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    for name in raw:
        if name not in fields and name != "kind":
            misplaced = raw["kind"] == "destination" and name in option_fields(raw)
            fix = f"write {name!r} below `options:`" if misplaced else did_you_mean(str(name), fields)
            yield f"$.{name}", f"a {raw['kind']} has no field {shown(name)}", fix
    for name, field in fields.items():
        if name in raw:
            yield from _value_faults(name, raw[name], field.type)
        elif field.required:
            yield "$", f"{name!r} is missing", _fix(name)


def _value_faults(name: str, value: object, wanted: Any) -> Iterator[FieldProblem]:
    try:
        known = msgspec.to_builtins(msgspec.convert(value, wanted))
    except msgspec.ValidationError as error:
        message, _, below = str(error).partition(" - at `$")
        path = f"$.{name}{below.rstrip('`')}"
        yield path, _plain(message, "what is given" if name == "secret" else shown(value)), _fix(name)
        return
    yield from unknown_within(value, known, f"$.{name}")


def _last_faults(raw: object) -> Iterator[FieldProblem]:
    try:
        parse(raw)
    except ConfigError as error:
        yield error.path, str(error), ""


def _plain(message: str, value: str) -> str:
    """msgspec's message in plain words, with the value unless that may be a secret."""
    if "matching regex" in message:
        return f"{value} is not allowed here"
    return plain(message)


def _fix(name: str) -> str:
    return _FIXES.get("name" if name in _NAMES else name, "")


def _called(raw: object) -> str:
    return {list: "a list", str: "text", type(None): "nothing"}.get(type(raw)) or shown(raw)
