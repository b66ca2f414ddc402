"""Finds query parameters that a route does not know.

FastAPI ignores them, so that a misspelt one changes what a request does: `?dryrun=true` would write.
"""

from typing import Final

from starlette.requests import Request

from shared.runtime.errors import did_you_mean

_SHOWN: Final = 40


def unknown_parameter(request: Request) -> str | None:
    """What is wrong with the first query parameter that the route does not declare, and the fix.

    None if it declares them all. What it declares is in the OpenAPI description of its application.
    """
    known: list[str] | None = None
    for name in request.query_params:
        known = _declared(request) if known is None else known
        if name not in known:
            fix = did_you_mean(name.lower(), known) if known else "it takes none: leave it out"
            return f"{name[:_SHOWN]}: this route has no such parameter; {fix}"
    return None


def _declared(request: Request) -> list[str]:
    path = request.app.openapi()["paths"][request.scope["route"].path_format]
    parameters = path[request.method.lower()].get("parameters", ())
    return [each["name"] for each in parameters if each["in"] == "query"]
