"""A record of the chain as its pipe would send it: after masks and transform, never more. Pure."""

import secrets
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import Raw

from pipelines.management.api.problems import ProblemError
from shared.contracts import headers as h
from shared.contracts.api_answers.events import NOTHING
from shared.contracts.documents import Pipe
from shared.contracts.expressions import ExpressionError
from shared.contracts.headers import header_attribute
from shared.contracts.masks import MaskError
from shared.runtime.logging import get_logger
from shared.transformation.event_content import EventContent, structured
from shared.transformation.pipe_transform import PipeTransform, TransformError, transform_of

_log = get_logger(__name__)
_HASH_KEY: Final = secrets.token_bytes(32)
"""Instead of the tenant's own key, which only transmit knows. It is random: with a known key, guesses of a
masked value could be checked."""

_RECOGNISED: Final = (h.CE_ID, h.CE_SOURCE, h.CE_TYPE, h.CE_TIME)
_encode: Final = msgspec.json.Encoder().encode
_json: Final = msgspec.json.Decoder(Raw)


class Leaving:
    """Shows records as one pipe would send them. Not thread-safe."""

    def __init__(self, pipe: Pipe | None) -> None:
        """`pipe` as it is now; None if there is none, so that nothing of its events can be shown."""
        self._problem = "" if pipe is not None else "its pipe is gone, and with it the masks of its data"
        self._transform: PipeTransform | None = None
        try:
            self._transform = None if pipe is None else transform_of(pipe)
        except (MaskError, ExpressionError) as error:
            self._problem = f"the pipe's masks or transform cannot be used: {error}"

    def shown(self, value: bytes | None, texts: Mapping[str, str]) -> dict[str, Any]:
        """The event in CloudEvents' structured format, with the data's own bytes, or why it is not shown.

        Args:
            value: the record's.
            texts: the record's headers.
        """
        if self._problem:
            return withheld(self._problem)
        try:
            event = self._left(_content(value, texts))
        except TransformError as error:
            return withheld(str(error))
        except msgspec.MsgspecError:
            return withheld("unreadable: it is not JSON, although its content type says so")
        except Exception as error:  # a defect, or a broken record; its text may contain the event's data
            _log.error("masks or transform failed unexpectedly", extra={"error": type(error).__name__})
            return withheld(f"internal: {type(error).__name__}")
        hashes = self._transform is not None and self._transform.hashes
        return {"event": event, "example_hashes": hashes, "problem": None}

    def _left(self, content: EventContent) -> Raw:
        left = content if self._transform is None else self._transform.apply(content, _HASH_KEY)
        return _json.decode(structured(left))


def recognised(texts: Mapping[str, str]) -> dict[str, str]:
    """The headers of a record that say which event it is, and that no mask can hide."""
    return {name: texts[name] for name in _RECOGNISED if name in texts}


def named(texts: Mapping[str, str]) -> dict[str, str | None]:
    """The attributes of `recognised`, by name."""
    return {header_attribute(name): texts.get(name) for name in _RECOGNISED}


def withheld(detail: str) -> dict[str, Any]:
    """Instead of an event that is not shown."""
    problem = ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail).details()
    return {"event": NOTHING, "example_hashes": False, "problem": problem}


def _content(value: bytes | None, texts: Mapping[str, str]) -> EventContent:
    ce = {
        header_attribute(name): text
        for name, text in texts.items()
        if name.startswith(h.CE_PREFIX) or name == h.CONTENT_TYPE
    }
    return EventContent(
        value=value,
        attributes=_encode(ce),
        content_type=texts.get(h.CONTENT_TYPE),
        texts=_encode(dict(texts)),
    )
