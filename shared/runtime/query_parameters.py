"""Finds query parameters that a route does not know, or takes once and was given twice.

FastAPI ignores the one and takes the last of the other, so that a misspelt or repeated parameter changes what
a request does: `?dryrun=true` and `?dry_run=true&dry_run=false` would write.
"""

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request

from shared.runtime.errors import did_you_mean

_SHOWN: Final = 40


def parameter_problem(request: Request) -> str | None:
    """The problem with the first query parameter that the route does not take as given, and the fix.

    None if it takes them all. What it declares is in the OpenAPI description of its application; it takes a
    parameter more than once if that is described as a list.
    """
    if not request.query_params:
        return None
    known = _declared(request)
    for name in request.query_params:
        if name not in known:
            fix = did_you_mean(name.lower(), list(known)) if known else "it takes none: leave it out"
            return f"{name[:_SHOWN]}: this route has no such parameter; {fix}"
        if len(request.query_params.getlist(name)) > 1 and not _is_list(known[name]):
            return f"{name}: it is given more than once; give it once"
    return None


def _declared(request: Request) -> Mapping[str, Mapping[str, Any]]:
    """The route's query parameters by name, as they are described."""
    path = request.app.openapi()["paths"][request.scope["route"].path_format]
    parameters = path[request.method.lower()].get("parameters", ())
    return {each["name"]: each for each in parameters if each["in"] == "query"}


def _is_list(described: Mapping[str, Any]) -> bool:
    schema = described.get("schema", {})
    return any(each.get("type") == "array" for each in (schema, *schema.get("anyOf", ())))
