"""The OpenAPI description states every route's parameters and answers."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.harness.api_description import KEPT
from tests.unit.pipelines.management.api.whole_app import app_over

EMPTY: Final = "204"


@pytest.fixture(scope="module")
def served() -> dict[str, Any]:
    return app_over().openapi()


def _operations(served: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in served["paths"].items():
        if path.startswith("/v1/"):
            yield from ((f"{method} {path}", each) for method, each in operations.items())


def test_the_description_in_docs_is_the_one_that_is_served(served: dict[str, Any]) -> None:
    assert json.loads(KEPT.read_text()) == served


def test_every_answer_has_a_body_that_is_described(served: dict[str, Any]) -> None:
    found = {
        f"{name}: {status}": answer
        for name, operation in _operations(served)
        for status, answer in operation["responses"].items()
        if status != EMPTY
    }
    assert len(found) > 400
    assert [name for name, answer in found.items() if not {"$ref", "content"} & answer.keys()] == []
    assert all(part["schema"] for answer in found.values() for part in answer.get("content", {}).values())


def test_everything_that_is_named_is_there(served: dict[str, Any]) -> None:
    def names(found: Any) -> Iterator[str]:
        if isinstance(found, dict):
            yield from ([found["$ref"]] if "$ref" in found else [])
            yield from (name for each in found.values() for name in names(each))
        if isinstance(found, list):
            yield from (name for each in found for name in names(each))

    kinds = ("schemas", "responses")
    there = {f"#/components/{kind}/{name}" for kind in kinds for name in served["components"][kind]}
    assert set(names(served)) <= there
