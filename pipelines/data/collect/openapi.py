"""`python -m pipelines.data.collect.openapi`: writes the OpenAPI 3.1 description of collect."""

import sys
from http import HTTPStatus
from typing import Any, Final

import msgspec

from pipelines.data.collect.parsing.content_types import Format
from pipelines.data.collect.responses import PROBLEM_TYPE
from shared.contracts.limits import MAX_BODY_BYTES, MAX_REQUEST_EVENTS

_REFUSED: Final = {
    HTTPStatus.UNAUTHORIZED: "No write key, or an unknown one.",
    HTTPStatus.REQUEST_TIMEOUT: "The body did not arrive in time.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: f"More than {MAX_BODY_BYTES} bytes or {MAX_REQUEST_EVENTS} events.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The content type or content encoding is not supported.",
    HTTPStatus.TOO_MANY_REQUESTS: "The source is over its rate limit.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "A defect of hifi's; it is safe to send the request again.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not written, or not confirmed in time; send the same request again.",
}
_RETRY_AFTER: Final = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_JSON: Final = "application/json"


def description() -> dict[str, Any]:
    """The OpenAPI document as JSON values."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hifi collect",
            "version": "1",
            "description": "Accepts events; two of three brokers have each event that a 2xx accepts.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {
            "/v1/events": {"post": _post_events()},
            "/healthz": {"get": _health("liveness", "The process is alive.")},
            "/readyz": {"get": _health("readiness", "The process accepts events.", "503")},
        },
        "components": {
            "securitySchemes": {"writeKey": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(),
        },
    }


def _post_events() -> dict[str, Any]:
    event, events = _ref("Event"), {"type": "array", "items": _ref("Event"), "maxItems": MAX_REQUEST_EVENTS}
    bodies: dict[Format, Any] = {
        Format.EVENT: event,
        Format.BATCH: events,
        Format.LINES: {"type": "string"},
        Format.PLAIN: {"oneOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]},
    }
    return {
        "operationId": "postEvents",
        "summary": "Send events",
        "security": [{"writeKey": []}],
        "parameters": [
            {
                "name": "Content-Encoding",
                "in": "header",
                "schema": {"enum": ["identity", "gzip", "x-gzip", "zstd"]},
            }
        ],
        "requestBody": {
            "required": True,
            "content": {form.value: {"schema": schema} for form, schema in bodies.items()},
        },
        "responses": {
            "202": _response("All events were accepted.", _JSON, _ref("Accepted")),
            "207": _response("Some events were accepted.", _JSON, _ref("Mixed")),
            "400": {
                "description": "No event was accepted.",
                "content": {
                    _JSON: {"schema": _ref("Mixed")},
                    PROBLEM_TYPE: {"schema": _ref("Problem")},
                },
            },
            **{str(status.value): _refusal(status, text) for status, text in _REFUSED.items()},
            "431": {"description": "Headers or trailers are too large."},
        },
    }


def _refusal(status: HTTPStatus, text: str) -> dict[str, Any]:
    response = _response(text, PROBLEM_TYPE, _ref("Problem"))
    if status in _RETRY_AFTER:
        response["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
    return response


def _health(name: str, text: str, *refusals: str) -> dict[str, Any]:
    found = {"200": text} | dict.fromkeys(refusals, "It is not ready.")
    return {
        "operationId": name,
        "summary": text,
        "security": [],
        "responses": {status: _response(said, _JSON, {"type": "object"}) for status, said in found.items()},
    }


def _response(text: str, content_type: str, schema: Any) -> dict[str, Any]:
    return {"description": text, "content": {content_type: {"schema": schema}}}


def _schemas() -> dict[str, Any]:
    text, whole = {"type": "string"}, {"type": "integer"}
    refused = _object(index=whole, status=whole, detail=text, field=text, fix=text)
    accepted = _object(index=whole, status=whole, id=text)
    event = _object(specversion={"const": "1.0"}, id=text, source=text, type=text)
    event["properties"] |= {"time": text | {"format": "date-time"}, "datacontenttype": text, "data": {}}
    return {
        "Event": event,
        "Accepted": _object(accepted=whole, ids={"type": "array", "items": text}),
        "Mixed": _object(
            accepted=whole, refused=whole, items={"type": "array", "items": {"oneOf": [accepted, refused]}}
        ),
        "Problem": _object(type=text, title=text, status=whole, detail=text, field=text, fix=text),
    }


def _object(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(members)}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def document() -> bytes:
    """The OpenAPI document as JSON text."""
    return msgspec.json.format(msgspec.json.encode(description()), indent=2) + b"\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(document())
