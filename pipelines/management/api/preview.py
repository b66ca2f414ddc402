"""A preview of a pipe's effect on an event, by the code that route and transmit run. Pure."""

import base64
from http import HTTPStatus
from typing import Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from pipelines.management.api.problems import ProblemError
from shared.contracts.api_answers.events import NOTHING
from shared.contracts.api_answers.previews import DestinationView, Preview, SampleView, UnmetCondition
from shared.contracts.api_answers.problems import FieldError, Problem
from shared.contracts.documents import Destination, Pipe
from shared.contracts.envelope import SPEC_VERSION, CollectedItem
from shared.contracts.expressions import ExpressionError
from shared.contracts.headers import attribute_header
from shared.contracts.masks import MaskError
from shared.contracts.matchers import STRING_TAG, PatternError
from shared.contracts.matching_steps import MATCHING_COMPARISONS
from shared.contracts.patterns import compile_pattern
from shared.documents.options import summary
from shared.matching.evaluator import TooManyComparisonsError, Unmet, first_unmet
from shared.matching.event_values import EventValues
from shared.matching.sampling import SAMPLE_BUCKETS, bucket, threshold
from shared.transformation.event_content import EventContent, structured
from shared.transformation.pipe_transform import PipeTransform, TransformError, transform_of

_FAILURES: Final = (TooManyComparisonsError, PatternError, MaskError, ExpressionError, TransformError)
_EXAMPLE_KEY: Final = b"an example: the tenant's own key is transmit's alone"
_FIX_MATCH: Final = "make the pattern simpler, or send fewer values in the fields that it looks at"
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


def preview(pipe: Pipe, event: PreviewEvent, destination: Destination | None, now_ms: int) -> Preview:
    """The effect that the pipe would have on the event.

    Args:
        pipe: it need not be saved.
        event: the event.
        destination: the one that the pipe names; None if there is none of that name.
        now_ms: epoch milliseconds, for a pipe with a ramp.
    """
    answer = _nothing(pipe, event, destination, now_ms)
    try:
        unmet = first_unmet(compile_pattern(pipe.match), event.values)
        answer = replace(answer, matches=unmet is None)
        if unmet is not None:
            return replace(answer, unmet=_shown(unmet))
        answer = _leaving(answer, event.content, transform_of(pipe))
    except _FAILURES as error:
        return replace(answer, problem=_problem(pipe, *_place(error)))
    if destination is None:
        missing = f"there is no destination {pipe.destination!r}"
        problem = _problem(pipe, "/destination", missing, "make one of this name, or name another one")
        return replace(answer, problem=problem)
    return replace(answer, leaves=answer.sample.taken)


def _place(error: Exception) -> tuple[str, str, str]:
    """The pointer to what of the pipe failed, why, and the fix."""
    match error:
        case TooManyComparisonsError():
            return (
                "/match",
                f"takes more than {MATCHING_COMPARISONS:,} comparisons with this event",
                _FIX_MATCH,
            )
        case PatternError():
            return "/match", str(error), "correct the pattern"
        case MaskError():
            return "/masks", str(error), _FIX_MASKS
    if str(error).startswith("mask_failed"):
        return "/masks", str(error), _FIX_MASKS
    return "/transform", str(error), "correct the transform, or let the pattern leave such events out"


def _nothing(pipe: Pipe, event: PreviewEvent, destination: Destination | None, now_ms: int) -> Preview:
    """The answer of a pipe that the event does not leave through."""
    return Preview(
        pipe=pipe.name,
        sample=_sample(pipe, event.id, now_ms),
        destination=None if destination is None else _in_short(destination),
        event=NOTHING,
    )


def _sample(pipe: Pipe, event_id: str, now_ms: int) -> SampleView:
    taken = threshold(pipe, now_ms)
    return SampleView(percent=100 * taken / SAMPLE_BUCKETS, taken=bucket(event_id) < taken)


def _in_short(destination: Destination) -> DestinationView:
    return DestinationView(
        name=destination.name, connector=destination.connector, summary=summary(destination)
    )


def _leaving(answer: Preview, content: EventContent, transform: PipeTransform | None) -> Preview:
    """Add the event after masks and transform, with the bytes of its data unchanged."""
    left = content if transform is None else transform.apply(content, _EXAMPLE_KEY)
    hashes = transform is not None and transform.hashes
    return replace(answer, event=Raw(structured(left)), example_hashes=hashes)


def _shown(unmet: Unmet) -> UnmetCondition:
    """The condition as it was written, and the beginning of what was found."""
    condition = unmet.condition
    return UnmetCondition(
        path=condition.path,
        wanted=Raw(_encode(condition.written)),
        found=[_value(text) for text in unmet.found[:_SHOWN]],
    )


def _value(text: str) -> Raw:
    """The value of a tagged text; texts are cut."""
    return Raw(_encode(text[1 : 1 + _SHOWN_CHARACTERS]) if text.startswith(STRING_TAG) else text.encode())


def _problem(pipe: Pipe, pointer: str, detail: str, fix: str) -> Problem:
    """Why nothing would leave."""
    error = FieldError(document=f"pipe/{pipe.name}", pointer=pointer, detail=detail, fix=fix)
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=[error]).details()
