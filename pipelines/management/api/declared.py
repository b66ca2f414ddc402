"""Declarations of routes for the OpenAPI description, beside their paths: parameters, statuses, bodies."""

from typing import Annotated, Any, Final

from fastapi import Query

from pipelines.management.api.problems import PROBLEM_TYPE

Text = Annotated[str | None, Query()]
"""A query parameter that may be left out."""

_PROBLEM: Final = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}
_COMMON: Final = (400, 401, 403, 404, 422, 429, 500, 503)


def route(*statuses: int, body: bool = False, parameters: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """Arguments of a FastAPI route: `statuses` beside those that every route may answer.

    Args:
        statuses: the first is the usual one.
        body: whether the route takes a JSON body.
        parameters: headers, as OpenAPI has them.
    """
    refusals = {status for status in (*_COMMON, *statuses, *((408, 413) if body else ())) if status >= 400}
    content = {PROBLEM_TYPE: {"schema": _PROBLEM}}
    responses: dict[int | str, dict[str, Any]] = {
        status: {"description": "refused", "content": content} for status in sorted(refusals)
    }
    responses |= {status: {"description": "done"} for status in statuses if status < 400}
    extra: dict[str, Any] = {"security": [{"bearer": []}]}
    if body:
        schema = {"application/json": {"schema": {"type": "object"}}}
        extra["requestBody"] = {"required": True, "content": schema}
    if parameters:
        extra["parameters"] = list(parameters)
    return {"status_code": statuses[0], "responses": responses, "openapi_extra": extra}
