"""Declarations of routes for the OpenAPI description, beside their paths: parameters, statuses, bodies."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Query
from msgspec.json import schema_components

Text = Annotated[str | None, Query()]
"""A query parameter that may be left out."""

SCHEMA_PLACE: Final = "#/components/schemas/{name}"
REFUSED: Final = "Refused"
"""The response of every refusal, which `described` adds."""

_JSON: Final = "application/json"
_COMMON: Final = (400, 401, 403, 404, 422, 429, 500, 503)
_OF_A_BODY: Final = (408, 413)

SCHEMAS: Final = "x-schemas"
"""The member of an operation with the schemas that it names, until `described` puts them in their place."""


def route(
    *statuses: int,
    body: Any = None,
    answers: Sequence[Any] = (),
    parameters: tuple[dict[str, Any], ...] = (),
) -> dict[str, Any]:
    """Arguments of a FastAPI route: `statuses` beside those that every route may answer.

    Args:
        statuses: the first is the usual one.
        body: type of the JSON body; None if the route takes none.
        answers: types, one of which each answer below 400 has, but for 204.
        parameters: headers, as OpenAPI has them.
    """
    of_a_body = () if body is None else _OF_A_BODY
    refusals = {status for status in (*_COMMON, *statuses, *of_a_body) if status >= 400}
    responses: dict[int | str, dict[str, Any]] = {
        status: {"$ref": f"#/components/responses/{REFUSED}"} for status in sorted(refusals)
    }
    taken = [] if body is None else [body]
    found, schemas = schema_components([*answers, *taken], ref_template=SCHEMA_PLACE)
    given = found[: len(answers)]
    schema = given[0] if len(given) == 1 else {"anyOf": [*given]}
    content = {"content": {_JSON: {"schema": schema}}} if answers else {}
    responses |= {
        status: {"description": "done"} | (content if status != HTTPStatus.NO_CONTENT else {})
        for status in statuses
        if status < 400
    }
    extra: dict[str, Any] = {"security": [{"bearer": []}]}
    if body is not None:
        extra["requestBody"] = {"required": True, "content": {_JSON: {"schema": found[-1]}}}
    if parameters:
        extra["parameters"] = list(parameters)
    return {
        "status_code": statuses[0],
        "responses": responses,
        "openapi_extra": extra | {SCHEMAS: schemas},
    }
