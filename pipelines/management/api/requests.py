"""Parsers for the parts of a request: conditions, cursors, bodies. Pure."""

import base64
import binascii
import re
from http import HTTPStatus
from typing import Any, Final

from msgspec import Struct

from pipelines.management.api.problems import ProblemError, not_found
from shared.cloudevents.json_validation import PARSE_ERRORS, parse
from shared.contracts.document_items import ABSENT
from shared.contracts.documents import KINDS
from shared.contracts.limits import MAX_DOCUMENT_DEPTH
from shared.documents.nesting import deeper_than

_ETAG: Final = re.compile(r'"([1-9][0-9]{0,9})"')
MOST_LISTED: Final = 200
_MOST_DEEP: Final = MAX_DOCUMENT_DEPTH + 2
"""Nesting of a body: its documents are in a list."""

_LISTED: Final = 100
_MOST_DIGITS: Final = 9
"""Digits of a version."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_PLACE: Final = re.compile(r"([0-9]{15})[.]([0-9a-f]{1,64})")
Place = tuple[int, str]
"""Position of an item in a list by time: epoch milliseconds, and its hexadecimal id."""

_DOCUMENT: Final = re.compile(rf"({'|'.join(KINDS)})/{_NAME.pattern}")


class Condition(Struct, frozen=True):
    """The version that a writer expects; None is whatever there is."""

    expected: int | None


def condition(if_match: str | None, if_none_match: str | None) -> Condition:
    """The condition in a write's headers.

    Raises:
        ProblemError: 428 without a condition, 400 for one that cannot be read.
    """
    if if_match is not None and if_none_match is not None:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "give If-Match or If-None-Match, not both")
    if if_none_match is not None:
        if if_none_match.strip() != "*":
            raise ProblemError(HTTPStatus.BAD_REQUEST, "If-None-Match: only * is understood")
        return Condition(ABSENT)
    if if_match is None:
        raise ProblemError(
            HTTPStatus.PRECONDITION_REQUIRED,
            'say what you saw: If-Match: "VERSION", If-None-Match: * for a new document, '
            "or If-Match: * for whatever there is",
        )
    if if_match.strip() == "*":
        return Condition(None)
    found = _ETAG.fullmatch(if_match.strip())
    if found is None:
        raise ProblemError(HTTPStatus.BAD_REQUEST, 'If-Match: give one version in quotes, for example "3"')
    return Condition(int(found[1]))


def flag(name: str, text: str | None) -> bool:
    """A parameter that is `true` or `false`; false unless given."""
    if text not in (None, "true", "false"):
        raise ProblemError(HTTPStatus.BAD_REQUEST, f"{name}: give true or false")
    return text == "true"


def limit(text: str | None) -> int:
    """How many items of a list are wanted."""
    if text is None:
        return _LISTED
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MOST_LISTED):
        raise ProblemError(HTTPStatus.BAD_REQUEST, f"limit: give a number from 1 to {MOST_LISTED}")
    return int(text)


def cursor_of(text: str | None) -> str | None:
    """The cursor that tells where a list goes on."""
    return None if text is None else base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def after(cursor: str | None) -> str | None:
    """The name that a list goes on after.

    Raises:
        ProblemError: 400 if the cursor is none of ours.
    """
    return _decoded(cursor, _NAME)


def after_document(cursor: str | None) -> str | None:
    """The `kind/name` that a list of all kinds goes on after.

    Raises:
        ProblemError: 400 if the cursor is none of ours.
    """
    return _decoded(cursor, _DOCUMENT)


def place_text(place: Place) -> str:
    """The text of a place, for `cursor_of`."""
    at_ms, known = place
    return f"{at_ms:015d}.{known}"


def after_place(cursor: str | None) -> Place | None:
    """The place that a list by time goes on after.

    Raises:
        ProblemError: 400 if the cursor is none of ours.
    """
    if cursor is None:
        return None
    found = _PLACE.fullmatch(cursor_text(cursor))
    if found is None:
        raise wrong_cursor()
    return int(found[1]), found[2]


def _decoded(cursor: str | None, form: re.Pattern[str]) -> str | None:
    if cursor is None:
        return None
    found = cursor_text(cursor)
    if not form.fullmatch(found):
        raise wrong_cursor()
    return found


def cursor_text(cursor: str) -> str:
    """The text of a cursor of `cursor_of`; empty for any other."""
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        return ""


def wrong_cursor() -> ProblemError:
    """The refusal of a cursor that is none of ours."""
    return ProblemError(HTTPStatus.BAD_REQUEST, "cursor: give `next` of the former answer as it is")


def version_before(cursor: str | None) -> int | None:
    """The version that a history goes on before."""
    found = after(cursor)
    if found is not None and not (found.isdigit() and len(found) <= 10):
        raise wrong_cursor()
    return None if found is None else int(found)


def version(text: str) -> int:
    """The version that a path names; a ProblemError says that there is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise not_found()
    return int(text)


def is_name(text: str) -> bool:
    """Whether it may name a tenant or document."""
    return _NAME.fullmatch(text) is not None


def plain(body: bytes) -> Any:
    """The value of a JSON body.

    Raises:
        ProblemError: 400 if it is none, 422 if it is nested too deeply for what looks into it.
    """
    try:
        value = parse(body)
    except PARSE_ERRORS as error:
        raise not_json(error) from None
    if deeper_than(value, _MOST_DEEP):
        raise nested_too_deep()
    return value


def not_json(error: Exception) -> ProblemError:
    """The refusal of a body that a parser refused with `error`."""
    if isinstance(error, RecursionError):
        return nested_too_deep()
    return ProblemError(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}")


def nested_too_deep() -> ProblemError:
    """The refusal of a body that is nested too deeply."""
    said = f"body: nested more than {MAX_DOCUMENT_DEPTH} levels deep; write it flatter"
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, said)
