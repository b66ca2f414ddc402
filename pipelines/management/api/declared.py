"""Declarations of routes for the OpenAPI description, beside their paths: parameters, statuses, bodies."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import Query
from msgspec.json import schema_components

from pipelines.management.api.problems import PROBLEM_TYPE
from shared.contracts.api_answers.problems import Problem

Text = Annotated[str | None, Query()]
"""A query parameter that may be left out."""

SCHEMA_PLACE: Final = "#/components/schemas/"
"""What a reference to a schema begins with."""

_JSON: Final = "application/json"
_EMPTY: Final = 204
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
    schemas = _Schemas()
    problem = schemas.of(Problem)["$ref"]
    responses: dict[int | str, dict[str, Any]] = {status: refused(problem) for status in sorted(refusals)}
    content = {"content": {_JSON: {"schema": schemas.any_of(answers)}}} if answers else {}
    responses |= {
        status: {"description": "done"} | (content if status != _EMPTY else {})
        for status in statuses
        if status < 400
    }
    extra: dict[str, Any] = {"security": [{"bearer": []}]}
    if body is not None:
        extra["requestBody"] = {"required": True, "content": {_JSON: {"schema": schemas.of(body)}}}
    if parameters:
        extra["parameters"] = list(parameters)
    return {
        "status_code": statuses[0],
        "responses": responses,
        "openapi_extra": extra | {SCHEMAS: schemas.known},
    }


def refused(problem: str) -> dict[str, Any]:
    """The response of a refusal; `problem` is the reference of its schema."""
    return {"description": "refused", "content": {PROBLEM_TYPE: {"schema": {"$ref": problem}}}}


class _Schemas:
    """Schemas that refer to those in `known`, by name."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type."""
        (found,), schemas = schema_components([kind], ref_template=SCHEMA_PLACE + "{name}")
        self.known |= schemas
        return found

    def any_of(self, kinds: Sequence[Any]) -> dict[str, Any]:
        """The schema of one of several types."""
        found = [self.of(each) for each in kinds]
        return found[0] if len(found) == 1 else {"anyOf": found}
