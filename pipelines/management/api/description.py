"""The OpenAPI description: FastAPI's, with what parameters may be (routes take them as text) and schemas."""

from typing import Any, Final

from fastapi.encoders import jsonable_encoder
from msgspec.json import schema_components
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from pipelines.management.api.declared import REFUSED, SCHEMA_PLACE, SCHEMAS
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

_OPERATIONS: Final = ("get", "put", "post", "delete", "head")


def described(description: dict[str, Any]) -> dict[str, Any]:
    """The description, complete."""
    components = description.setdefault("components", {})
    components["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    (problem,), schemas = schema_components([Problem], ref_template=SCHEMA_PLACE)
    components["responses"] = {
        REFUSED: {"description": "refused", "content": {PROBLEM_TYPE: {"schema": problem}}}
    }
    components["schemas"] = schemas = jsonable_encoder(schemas)  # as FastAPI did with the others
    for path in description["paths"].values():
        for operation in (path[name] for name in _OPERATIONS if name in path):
            _add(schemas, operation.pop(SCHEMAS, {}))
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
