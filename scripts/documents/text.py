"""Published documents as YAML, JSON and one-line summaries. Pure."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

from shared.contracts.documents import Contact, Destination, Document, Entry, Pipe, Source, kind_of
from shared.documents.options import summary
from shared.documents.yaml_dumper import CoreDumper


def as_mapping(document: Document) -> dict[str, Any]:
    """A document as plain values, kind and name first, without fields at their defaults."""
    plain: dict[str, Any] = msgspec.to_builtins(document)
    first = {"kind": kind_of(document), "name": document.name}
    fields = msgspec.structs.fields(document)
    usual = {field.encode_name for field in fields if _at_default(document, field)}
    return first | {name: value for name, value in plain.items() if name not in first and name not in usual}


def _at_default(document: Document, field: msgspec.structs.FieldInfo) -> bool:
    if field.required:
        return False
    has_factory = field.default_factory is not msgspec.NODEFAULT
    return bool(getattr(document, field.name) == (field.default_factory() if has_factory else field.default))


def to_yaml(entries: Iterable[Entry]) -> str:
    """Documents as a YAML stream that `hifi apply` takes; the version is a comment."""
    texts = [
        f"# version {entry.version}\n"
        + yaml.dump(
            as_mapping(entry.document), Dumper=CoreDumper, sort_keys=False, allow_unicode=True, width=100
        )
        for entry in entries
    ]
    return "---\n".join(texts)


def to_json(entries: Iterable[Entry]) -> str:
    """Documents with their versions as a JSON array."""
    items = [{"version": entry.version, "document": as_mapping(entry.document)} for entry in entries]
    return json.dumps(items, indent=2, ensure_ascii=False)


def in_short(document: Document) -> str:
    """The main fields of a document on one line."""
    match document:
        case Source():
            limit = f", {document.rate_limit:g} events/s" if document.rate_limit else ""
            return f"{len(document.write_keys)} write key{'s' * (len(document.write_keys) > 1)}{limit}"
        case Destination():
            return f"{document.connector} {summary(document)}".rstrip()
        case Contact():
            webhook = f"{document.webhook}{', signed' if document.secret else ''}" if document.webhook else ""
            return ", ".join(filter(None, (webhook, document.email)))
        case Pipe():
            share = "" if document.sample == 100 else f", {document.sample:g} %"
            ramp = ", ramp" if document.ramp else ", rollout" if document.rollout else ""
            masks = f", {len(document.masks)} mask{'s' * (len(document.masks) > 1)}" if document.masks else ""
            transform = ", transform" if document.transform is not None else ""
            watch = f", watches {len(document.watch)}" if document.watch else ""
            changes = f"{masks}{transform}{watch}"
            match_text = f", match {json.dumps(document.match, ensure_ascii=False)}" if document.match else ""
            return f"{document.source} -> {document.destination}{share}{ramp}{changes}{match_text}"
