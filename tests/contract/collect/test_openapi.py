"""The OpenAPI description of collect matches the responses of a process."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.contract.collect.process import BATCH, EVENT, KEY, CollectProcess, encoded, event

KEPT = Path(__file__).parents[3] / "docs" / "openapi" / "collect.json"


@pytest.fixture
def served(collect: CollectProcess) -> dict[str, Any]:
    found: dict[str, Any] = collect.request("GET", "/openapi.json").json
    return found


def test_the_description_in_docs_is_the_one_that_is_served(served: dict[str, Any]) -> None:
    assert json.loads(KEPT.read_text()) == served


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ((encoded(event()), EVENT, KEY), 202),
        ((encoded(event(), event(id=None)), BATCH, KEY), 207),
        ((encoded(event(id=None)), EVENT, KEY), 400),
        ((b"[", BATCH, KEY), 400),
        ((encoded(event()), EVENT, "unknown"), 401),
        ((encoded(event()), "text/plain", KEY), 415),
        ((b" " * 9_000_000, EVENT, KEY), 413),
    ],
)
def test_every_answer_fits_the_description(
    collect: CollectProcess, served: dict[str, Any], request_: tuple[bytes, str, str], status: int
) -> None:
    answer = collect.post(*request_)
    assert answer.status == status
    content = served["paths"]["/v1/events"]["post"]["responses"][str(status)]["content"]
    schema = content[answer.headers["content-type"]]["schema"] | {"components": served["components"]}
    jsonschema.Draft202012Validator(schema).validate(answer.json)
