"""Reads YAML that a person typed, within the bound of a document. Pure; a large text takes seconds."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from pipelines.management.console.api_client import Document
from shared.contracts.api_answers.problems import FieldError
from shared.contracts.limits import MAX_DOCUMENT_BYTES
from shared.contracts.yaml_bounds import YamlError
from shared.documents.yaml_loader import Section, sections


class TypedError(ValueError):
    """The typed text cannot be read; each of `errors` names its field."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(each.detail for each in errors))
        self.errors = errors


def one_value(text: str) -> Any:
    """The value of a YAML text; a ValueError says why it is none, and on which line."""
    check_size(text)
    try:
        found = list(sections(text))
    except YamlError as error:
        raise ValueError(f"line {error.line}: {error}") from None
    if len(found) != 1:
        raise ValueError("write one YAML document, without ---")
    value = found[0].value
    refuse_unwritable(value)
    try:
        msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"cannot be written as JSON: {error}") from None
    return value


def refuse_unwritable(value: object, *path: str) -> None:
    """Refuse what JSON cannot hold, before it is written as something else or not at all.

    Raises:
        ValueError: with the place and the fix.
    """
    if isinstance(value, dict):
        for key, each in value.items():
            _refuse_name(key, path)
            refuse_unwritable(each, *path, str(key))
    elif isinstance(value, list | tuple | set):
        for number, each in enumerate(value):
            refuse_unwritable(each, *path, str(number))
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(_at(path, "write a finite number"))
    elif isinstance(value, str):
        _refuse_half(value, path)


def _refuse_name(name: object, path: Sequence[str]) -> None:
    """A name is text, or a whole number, which becomes text."""
    if isinstance(name, str):
        _refuse_half(name, path)
    elif isinstance(name, bool) or not isinstance(name, int):
        said = "null" if name is None else str(name).lower()
        raise ValueError(_at(path, f'quote the name {said}: "{said}"'))


def _refuse_half(text: str, path: Sequence[str]) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):x}"
        said = f"{half} is half of a surrogate pair; write the character itself"
        raise ValueError(_at(path, said)) from None


def _at(path: Sequence[str], said: str) -> str:
    return f"{'.'.join(path)}: {said}" if path else said


def document_of_text(text: str) -> Document:
    """The document that a YAML text states.

    Raises:
        TypedError: if it is not YAML, not a mapping, or too large.
    """
    try:
        found = one_value(text)
    except ValueError as error:
        raise TypedError([FieldError(pointer="", detail=str(error))]) from None
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise TypedError([FieldError(pointer="", detail="write  field: value  lines")])
    return found


def with_lines(text: str, errors: Sequence[FieldError]) -> list[FieldError]:
    """The errors with the lines, from 1, of the YAML text that they mean; 1 if what is meant is not there."""
    if not any(each.pointer for each in errors):
        return list(errors)
    try:
        check_size(text)
        found = next(iter(sections(text)), None)
    except ValueError:
        found = None
    return [
        replace(each, detail=f"line {_line(found, each.pointer)}: {each.detail}") if each.pointer else each
        for each in errors
    ]


def _line(found: Section | None, pointer: str) -> int:
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    path = "$" + "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in steps)
    return 1 if found is None else found.line(path)


def check_size(text: str) -> None:
    """Before a text is read, which takes seconds if it is large; a ValueError refuses it."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_DOCUMENT_BYTES:
        raise ValueError(f"{size:,} bytes are too many for a document; write at most {MAX_DOCUMENT_BYTES:,}")
