"""Applies a pipe's masks, then its transform, to an event. Pure.

Masks come first, so that a transform cannot copy a masked value. No error text contains a value of an event,
because reasons are written to receipts and displayed.
"""

from typing import Any, Final, TypeVar

import msgspec
from jmespath.exceptions import JMESPathTypeError

from shared.contracts.documents import Pipe
from shared.contracts.envelope import data_member
from shared.contracts.expressions import compile_expression
from shared.contracts.headers import CONTENT_TYPE, attribute_header
from shared.contracts.limits import MAX_EVENT_BYTES
from shared.contracts.patterns import DATA
from shared.transformation import lossless_json
from shared.transformation.bounded_jmespath import Evaluation, NoJsonError
from shared.transformation.event_content import EventContent
from shared.transformation.masking import (
    below,
    compiled,
    masked_bytes,
    masked_json,
    masked_text,
)
from shared.transformation.step_budget import StepBudget, TooManyStepsError

STEPS: Final = 10_000
MOST_STEPS: Final = 250_000
"""An evaluation may take STEPS plus one for each byte of the event, but at most MOST_STEPS: normal transforms
are linear in the event, and even the largest event must not delay the others for long."""

MASK_STEPS: Final = 500_000
"""Most matches of masks and values in one event."""

E = TypeVar("E", bound=EventContent)

_JSON: Final = "application/json"
_attributes: Final = msgspec.json.Decoder(dict[str, str])
_texts: Final = msgspec.json.Decoder(dict[str, str | None])
_encode: Final = msgspec.json.Encoder().encode


class TransformError(Exception):
    """Masks or transform failed for an event. The text is a word, a colon and a sentence."""


class PipeTransform:
    """The compiled masks and transform of one pipe. Not thread-safe."""

    def __init__(self, pipe: Pipe) -> None:
        """Raises MaskError or ExpressionError for a document that only a newer version understands."""
        masks = compiled(pipe.masks)
        self.hashes = any(action == "hash" for _, action in masks)
        """Whether a mask needs the tenant's key."""

        self._data_masks = below(DATA, masks)
        names = dict.fromkeys(str(steps[0]) for steps, _ in masks if steps[0] != DATA)
        self._attribute_masks = {name: below(name, masks) for name in names}
        text = pipe.transform
        self._transform = None if text is None else Evaluation(compile_expression(text))

    def apply(self, event: E, key: bytes) -> E:
        """The transformed event, which keeps a reference to the original.

        Raises:
            TransformError: if masks or transform fail.
        """
        transformed = self._mask_attributes(self._mask_data(event, key), key)
        if self._transform:
            transformed = _transformed(transformed, self._transform)
        return (
            event if transformed is event else msgspec.structs.replace(transformed, untouched=event.as_read)
        )

    def _mask_data(self, event: E, key: bytes) -> E:
        masks, value = self._data_masks, event.value
        if not masks or value is None:
            return event
        try:
            if event.is_json:
                masked = masked_json(value, masks, key, StepBudget(MASK_STEPS))
            elif any(steps for steps, _ in masks):
                raise TransformError("mask_failed: the data is not JSON, so a path in it cannot be found")
            else:
                masked = masked_bytes(value, masks, key)
        except TooManyStepsError:
            raise TransformError(f"mask_failed: masks and values meet more than {MASK_STEPS} times") from None
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise TransformError(f"mask_failed: the data cannot be decoded ({_kind(error)})") from None
        if masked is value:
            return event
        if masked is not None and len(masked) > max(MAX_EVENT_BYTES, len(value)):
            raise TransformError(f"mask_failed: the masked data has more than {MAX_EVENT_BYTES} bytes")
        return msgspec.structs.replace(event, value=masked)

    def _mask_attributes(self, event: E, key: bytes) -> E:
        if not self._attribute_masks:
            return event
        attributes = _attributes.decode(event.attributes)
        changes: dict[str, str | None] = {
            name: masked_text(attributes[name], masks, key)
            for name, masks in self._attribute_masks.items()
            if name in attributes
        }
        return _with_attributes(event, attributes, changes) if changes else event


def transform_of(pipe: Pipe) -> PipeTransform | None:
    """The compiled masks and transform of a pipe; None if it has neither.

    Raises:
        MaskError, ExpressionError: as `PipeTransform` does.
    """
    return PipeTransform(pipe) if pipe.masks or pipe.transform is not None else None


def _with_attributes(event: E, attributes: dict[str, str], changes: dict[str, str | None]) -> E:
    """The event with attributes and their headers replaced, or removed where the new value is None."""
    kept = {name: text for name, text in (attributes | changes).items() if text is not None}
    headers = _texts.decode(event.texts) | {attribute_header(name): text for name, text in changes.items()}
    texts = {name: text for name, text in headers.items() if text is not None}
    return msgspec.structs.replace(
        event,
        attributes=_encode(kept),
        texts=_encode(texts),
        content_type=texts.get(CONTENT_TYPE),
    )


def _transformed(event: E, transform: Evaluation) -> E:
    value = _result(event, transform)
    if value is None:
        raise TransformError(
            "transform_failed: the result is null; fields are under `data`, a default is `|| 'none'`"
        )
    if len(value) > MAX_EVENT_BYTES:
        raise TransformError(f"transform_failed: the result has more than {MAX_EVENT_BYTES} bytes")
    if not event.is_json:
        attributes = _attributes.decode(event.attributes)
        event = _with_attributes(event, attributes, {"datacontenttype": _JSON})
    return msgspec.structs.replace(event, value=value)


def steps_for(event: EventContent) -> int:
    """Steps that the evaluation of an event may take."""
    return min(MOST_STEPS, STEPS + len(event.attributes) + len(event.value or b""))


def _result(event: EventContent, transform: Evaluation) -> bytes | None:
    """The result of a transform; errors do not contain the event's values."""
    try:
        return transform.apply(_as_mapping(event), steps_for(event))
    except TooManyStepsError:
        reason = f"takes more than {STEPS} steps and one a byte, or {MOST_STEPS} in all; make it simpler"
    except NoJsonError as error:
        reason = f"its result would hold {error}"
    except JMESPathTypeError as error:
        wanted = ", ".join(error.expected_types)
        reason = f"{error.function_name}() takes {wanted}, and was given {_type(error.actual_type)}"
    except Exception as error:  # any failure of an operation on these values; the text may contain one
        reason = f"an operation does not fit its values ({_kind(error)})"
    raise TransformError(f"transform_failed: {reason}")


def _as_mapping(event: EventContent) -> dict[str, Any]:
    """The event in CloudEvents' JSON format, the input of a transform."""
    found: dict[str, Any] = dict(_attributes.decode(event.attributes))
    if event.value is None:
        return found
    if event.is_json:
        return found | {DATA: lossless_json.decode(event.value)}
    member: dict[str, Any] = lossless_json.decode(b"{%b}" % data_member(event.content_type, event.value)[1:])
    return found | member


def _type(name: str) -> str:
    """A type of JSON by the name that the library gives, which is sometimes Python's."""
    known = {"int": "number", "float": "number", "str": "string", "NoneType": "null", "bool": "boolean"}
    return known.get(name, {"list": "array", "dict": "object"}.get(name, name))


def _kind(error: Exception) -> str:
    return type(error).__name__
