"""The OpenAPI description: FastAPI's, with what parameters may be (routes take them as text) and schemas."""

from typing import Any, Final

from prometheus_client.exposition import CONTENT_TYPE_LATEST

from pipelines.management.api.declared import SCHEMA_PLACE, SCHEMAS, refused
from pipelines.management.api.problems import PROBLEM_TYPE
from pipelines.management.api.requests import MOST_LISTED
from shared.contracts.api_answers.problems import Problem

_PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED},
    "cursor": {"type": "string", "description": "`next` of the former answer, as it is."},
    "dry_run": {"type": "string", "enum": ["true", "false"]},
    "revoke": {"type": "string", "enum": ["true", "false"]},
    "all": {"type": "string", "enum": ["true", "false"]},
    "brief": {
        "type": "string",
        "enum": ["true", "false"],
        "description": "Leave out the documents themselves; `deleted` says which versions are deletions.",
    },
    "version": {"type": "integer", "minimum": 1, "description": "One of the history."},
    "if-match": {"type": "string", "pattern": r'^(\*|"[1-9][0-9]{0,9}")$'},
    "if-none-match": {"type": "string", "enum": ["*"]},
}
"""JSON Schema of parameters, by name."""

_REFUSED: Final = "Refused"
_OPERATIONS: Final = ("get", "put", "post", "delete", "head")


def described(description: dict[str, Any]) -> dict[str, Any]:
    """The description, complete."""
    components = description.setdefault("components", {})
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    components["responses"] = {_REFUSED: refused(f"{SCHEMA_PLACE}{Problem.__name__}")}
    schemas = components.setdefault("schemas", {})
    for path in description["paths"].values():
        for operation in (path[name] for name in _OPERATIONS if name in path):
            _add(schemas, operation.pop(SCHEMAS, {}))
            operation["responses"] = {
                status: _shared(answer) for status, answer in operation["responses"].items()
            }
            for parameter in operation.get("parameters", ()):
                parameter["schema"] = _PARAMETERS.get(parameter["name"], parameter["schema"])
    answer = description["paths"]["/metrics"]["get"]["responses"]["200"]
    answer["content"] = {CONTENT_TYPE_LATEST.partition(";")[0]: {"schema": {"type": "string"}}}
    return description


def _add(schemas: dict[str, Any], found: dict[str, Any]) -> None:
    """Add schemas by name.

    Raises:
        ValueError: if two types have one name.
    """
    for name, schema in found.items():
        if schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two types of requests or answers are called {name}; rename one")


def _shared(answer: dict[str, Any]) -> dict[str, Any]:
    """A refusal by its name; any other answer as it is."""
    return (
        {"$ref": f"#/components/responses/{_REFUSED}"}
        if PROBLEM_TYPE in answer.get("content", ())
        else answer
    )
