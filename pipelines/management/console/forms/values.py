"""Between a document and what is typed into its form. Pure: a form's texts stand by their JSON pointer."""

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from pipelines.management.console.api_client import Document
from pipelines.management.console.forms.fields import Field, Shape
from pipelines.management.console.forms.typed_text import TypedError, check_size, one_value, refuse_unwritable
from pipelines.management.console.forms.yaml_text import written
from shared.contracts.api_answers.problems import FieldError

Texts = dict[str, str | bool | None]
Typed = Mapping[str, str | bool | None]
_MISSING: Final = object()


def typed(document: Document, fields: Sequence[Field]) -> Texts:
    """The texts that the form of a document shows; a TooLongError says that one is too long."""
    return {each.pointer: _shown(_at(document, each.path), each) for each in fields}


def document_of(texts: Typed, fields: Sequence[Field], base: Document) -> Document:
    """The document that a form states; what it does not show stays as in `base`.

    Raises:
        TypedError: if a text cannot be read, or all are more than a document.
    """
    try:
        check_size("".join(str(text) for text in texts.values()))
    except ValueError as error:
        raise TypedError([FieldError(pointer="", detail=str(error))]) from None
    document, errors = deepcopy(base), []
    for field in fields:
        try:
            value = _read(texts.get(field.pointer), field)
        except ValueError as error:
            errors.append(FieldError(pointer=field.pointer, detail=str(error)))
            continue
        if value is _MISSING:
            _remove(document, field.path)
        else:
            _put(document, field.path, value)
    if errors:
        raise TypedError(errors)
    return document


def spread(errors: Sequence[FieldError], fields: Sequence[Field]) -> tuple[dict[str, str], list[FieldError]]:
    """Errors by the pointer of the field that shows them, and those that no field shows."""
    known = {each.pointer for each in fields}
    shown: dict[str, str] = {}
    others = []
    for error in errors:
        place = next((each for each in _upwards(error.pointer) if each in known), None)
        if place is None:
            others.append(error)
        else:
            shown[place] = "; ".join(filter(None, (shown.get(place), sentence(error, place))))
    return shown, others


def sentence(error: FieldError, place: str = "") -> str:
    """An error as a person reads it; inside of `place`, with the rest of its pointer."""
    inside = error.pointer.removeprefix(place).strip("/")
    said = f"{inside}: {error.detail}" if inside else error.detail
    return f"{said} ({error.fix})" if error.fix else said


def _upwards(pointer: str) -> Iterator[str]:
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]


def _shown(value: Any, field: Field) -> str | bool | None:
    if field.shape is Shape.FLAG:
        return bool(field.default if value is _MISSING else value)
    if value is _MISSING or value is None:
        return None if field.shape is Shape.CHOICE else ""
    if field.shape is Shape.YAML:
        return "" if value in ({}, []) else written(value).rstrip("\n")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _read(text: str | bool | None, field: Field) -> Any:
    if field.shape is Shape.FLAG:
        return _MISSING if bool(text) == bool(field.default) else bool(text)
    plain = str(text or "")
    if not plain.strip():
        return _MISSING
    refuse_unwritable(plain)
    match field.shape:
        case Shape.INTEGER:
            return _integer(plain.strip())
        case Shape.NUMBER:
            return _number(plain.strip())
        case Shape.YAML:
            return one_value(plain)
    return plain if "\n" in plain else plain.strip()


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("write a whole number") from None


def _number(text: str) -> int | float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ValueError("write a number, for example 2.5")
    return int(found) if found.is_integer() and "e" not in text.lower() else found


def _at(document: Any, path: Sequence[str]) -> Any:
    for step in path:
        if not isinstance(document, dict) or step not in document:
            return _MISSING
        document = document[step]
    return document


def _put(document: Document, path: Sequence[str], value: Any) -> None:
    for step in path[:-1]:
        inner = document.get(step)
        document[step] = document = inner if isinstance(inner, dict) else {}
    document[path[-1]] = value


def _remove(document: Document, path: Sequence[str]) -> None:
    """Remove a value, and what held only it."""
    inner = document.get(path[0])
    if len(path) == 1:
        document.pop(path[0], None)
    elif isinstance(inner, dict):
        _remove(inner, path[1:])
        if not inner:
            del document[path[0]]
