"""A preview of a pipe's effect on an event, by the code that route and transmit run. Pure."""

import base64
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from pipelines.management.api.problems import ProblemError
from shared.contracts.api_answers import FieldError
from shared.contracts.documents import Destination, Pipe
from shared.contracts.envelope import SPEC_VERSION, CollectedItem
from shared.contracts.expressions import ExpressionError
from shared.contracts.headers import attribute_header
from shared.contracts.masks import MaskError
from shared.contracts.matchers import STRING_TAG, PatternError
from shared.contracts.patterns import compile_pattern
from shared.documents.options import summary
from shared.matching.evaluator import Unmet, first_unmet
from shared.matching.event_values import EventValues
from shared.matching.sampling import SAMPLE_BUCKETS, bucket, threshold
from shared.transformation.event_content import EventContent, structured
from shared.transformation.pipe_transform import PipeTransform, TransformError, transform_of
from shared.transformation.step_budget import StepBudget, TooManyStepsError

COMPARED: Final = 50_000_000
"""Characters that one pipe's pattern may compare."""

_FAILURES: Final = (TooManyStepsError, PatternError, MaskError, ExpressionError, TransformError)
_EXAMPLE_KEY: Final = b"an example: the tenant's own key is transmit's alone"
_FIX_MASKS: Final = "correct the masks, or let the pattern leave such events out"
_SHOWN: Final = 10
_SHOWN_CHARACTERS: Final = 200
_encode: Final = msgspec.json.Encoder().encode


class PreviewEvent(Struct, frozen=True, kw_only=True):
    """An event as route and transmit would read it."""

    id: str
    values: EventValues
    content: EventContent


def preview_event(item: CollectedItem) -> PreviewEvent:
    """The event that collect would have taken."""
    attributes = {"specversion": SPEC_VERSION, **item.attributes}
    content = EventContent(
        value=_data(item),
        attributes=_encode(attributes),
        content_type=attributes.get("datacontenttype"),
        texts=_encode({attribute_header(name): text for name, text in attributes.items()}),
    )
    return PreviewEvent(id=item.id, values=EventValues(attributes, content.value), content=content)


def _data(item: CollectedItem) -> bytes | None:
    if item.data is not None:
        return item.data.encode()
    return None if item.data_base64 is None else base64.b64decode(item.data_base64)


def preview(pipe: Pipe, event: PreviewEvent, destination: Destination | None, now_ms: int) -> dict[str, Any]:
    """The effect that the pipe would have on the event.

    Args:
        pipe: it need not be saved.
        event: the event.
        destination: the one that the pipe names; None if there is none of that name.
        now_ms: epoch milliseconds, for a pipe with a ramp.
    """
    answer = _nothing(pipe, event, destination, now_ms)
    try:
        unmet = first_unmet(compile_pattern(pipe.match), event.values, StepBudget(COMPARED).spend)
        answer["matches"] = unmet is None
        if unmet is not None:
            return answer | {"unmet": _shown(unmet)}
        answer |= _leaving(event.content, transform_of(pipe))
    except _FAILURES as error:
        return answer | _problem(pipe, *_place(error))
    if destination is None:
        missing = f"there is no destination {pipe.destination!r}"
        return answer | _problem(pipe, "/destination", missing, "make one of this name, or name another one")
    return answer | {"leaves": answer["sample"]["taken"]}


def _place(error: Exception) -> tuple[str, str, str]:
    """The pointer to what of the pipe failed, why, and the fix."""
    match error:
        case TooManyStepsError():
            return "/match", f"compares more than {COMPARED:,} characters", "make the pattern simpler"
        case PatternError():
            return "/match", str(error), "correct the pattern"
        case MaskError():
            return "/masks", str(error), _FIX_MASKS
    if str(error).startswith("mask_failed"):
        return "/masks", str(error), _FIX_MASKS
    return "/transform", str(error), "correct the transform, or let the pattern leave such events out"


def _nothing(pipe: Pipe, event: PreviewEvent, destination: Destination | None, now_ms: int) -> dict[str, Any]:
    """The answer of a pipe that the event does not leave through."""
    return {
        "pipe": pipe.name,
        "matches": None,
        "unmet": None,
        "sample": _sample(pipe, event.id, now_ms),
        "destination": None if destination is None else _in_short(destination),
        "event": None,
        "example_hashes": False,
        "leaves": False,
        "problem": None,
    }


def _sample(pipe: Pipe, event_id: str, now_ms: int) -> Mapping[str, Any]:
    taken = threshold(pipe, now_ms)
    return {"percent": 100 * taken / SAMPLE_BUCKETS, "taken": bucket(event_id) < taken}


def _in_short(destination: Destination) -> Mapping[str, str]:
    return {
        "name": destination.name,
        "connector": destination.connector,
        "summary": summary(destination),
    }


def _leaving(content: EventContent, transform: PipeTransform | None) -> dict[str, Any]:
    """The event after masks and transform, in CloudEvents' structured format with the data's own bytes."""
    left = content if transform is None else transform.apply(content, _EXAMPLE_KEY)
    return {"event": Raw(structured(left)), "example_hashes": transform is not None and transform.hashes}


def _shown(unmet: Unmet) -> Mapping[str, Any]:
    """The condition as it was written, and the beginning of what was found."""
    condition = unmet.condition
    return {
        "path": condition.path,
        "wanted": condition.written,
        "found": [_value(text) for text in unmet.found[:_SHOWN]],
    }


def _value(text: str) -> str | Raw:
    """The value of a tagged text; texts are cut."""
    return text[1 : 1 + _SHOWN_CHARACTERS] if text.startswith(STRING_TAG) else Raw(text.encode())


def _problem(pipe: Pipe, pointer: str, detail: str, fix: str) -> dict[str, Any]:
    """Why nothing would leave, as problem details."""
    error = FieldError(document=f"pipe/{pipe.name}", pointer=pointer, detail=detail, fix=fix)
    errors: Sequence[FieldError] = [error]
    return {"problem": ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=errors).details()}
