"""Published documents as a user reads them. Pure."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

from shared.contracts.config import Destination, Document, Entry, Pipe, Source, kind_of


def as_mapping(document: Document) -> dict[str, Any]:
    """A document as plain values, its kind and name first; fields at their defaults are left out."""
    plain: dict[str, Any] = msgspec.to_builtins(document)
    defaults = {f.encode_name: msgspec.to_builtins(_default(f)) for f in msgspec.structs.fields(document)}
    first = {"kind": kind_of(document), "name": document.name}
    return first | {k: v for k, v in plain.items() if k not in first and v != defaults.get(k, ...)}


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return ... if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def to_yaml(entries: Iterable[Entry]) -> str:
    """Documents as a YAML stream that `hifi apply` takes; the version is a comment."""
    texts = [
        f"# version {entry.version}\n"
        + yaml.safe_dump(as_mapping(entry.document), sort_keys=False, allow_unicode=True, width=100)
        for entry in entries
    ]
    return "---\n".join(texts)


def to_json(entries: Iterable[Entry]) -> str:
    """Documents with their versions as a JSON array."""
    items = [{"version": entry.version, "document": as_mapping(entry.document)} for entry in entries]
    return json.dumps(items, indent=2, ensure_ascii=False)


def in_short(document: Document) -> str:
    """What distinguishes a document, on one line."""
    match document:
        case Source():
            limit = f", {document.rate_limit:g} events/s" if document.rate_limit else ""
            return f"{len(document.write_keys)} write key{'s' * (len(document.write_keys) > 1)}{limit}"
        case Destination():
            return f"{document.connector} {document.url}"
        case Pipe():
            share = "" if document.sample == 100 else f", {document.sample:g} %"
            ramp = ", ramp" if document.ramp else ""
            match_text = f", match {json.dumps(document.match, ensure_ascii=False)}" if document.match else ""
            return f"{document.source} -> {document.destination}{share}{ramp}{match_text}"
