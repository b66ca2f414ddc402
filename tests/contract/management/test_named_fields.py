"""A refused request names its field."""

from typing import Any

import pytest

from tests.contract.management.api_process import ANY, ApiProcess

ROOT = "/v1/tenants/fields"


@pytest.mark.parametrize(
    ("path", "body", "pointer", "detail"),
    [
        ("tokens", {"role": "king", "label": "x"}, "/role", "Invalid enum value 'king'"),
        ("tokens", {"role": "viewer", "label": 5}, "/label", "Expected text, got int"),
        ("tokens", {"role": "viewer"}, "", "lacks the field label"),
        ("tokens", {"role": "viewer", "label": "x", "strategy": 1}, "", "unknown field strategy"),
        ("tokens", {"role": "operator", "label": "x"}, "/role", "operators belong to no tenant"),
        ("invitations", {"role": "operator", "label": "x"}, "/role", "operators belong to no tenant"),
        ("apply", {"documents": [{"kind": "source", "name": "a"}, 7]}, "/documents/1", "is no document"),
        (
            "apply",
            {"documents": [{"kind": "source", "name": "a"}] * 2},
            "/documents",
            "source/a is given twice",
        ),
        ("apply", {"delete": [{"kind": "thing", "name": "a"}]}, "/delete/0", "'thing/a' is no document"),
        ("apply", {"expected": {"source/b": 1}}, "/expected", "'source/b' is not in this bundle"),
        ("apply", {"expected": {"source/b": "1"}}, "/expected", "Expected int, got text"),
        ("try", {"event": {}, "sources": "a"}, "", "unknown field sources"),
        ("destinations/d/revert", {"version": 0}, "/version", "is no version"),
    ],
)
def test_what_is_wrong_in_a_body_is_said_at_its_place(
    api: ApiProcess, path: str, body: Any, pointer: str, detail: str
) -> None:
    refused = api.ask("POST", f"{ROOT}/{path}", body, ANY)
    (error,) = refused.json["errors"]
    assert (refused.status, error["document"], error["pointer"]) == (422, "request", pointer)
    assert detail in error["detail"]
