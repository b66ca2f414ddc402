"""Invalid bodies of `POST /v1/quiet`."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from pipelines.control.observe.api.routes import build
from pipelines.control.observe.settings import ObserveSettings


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"x":' + b"[" * 8_000 + b"]" * 8_000 + b"}", id="deep"),
        pytest.param(b'{"x":' * 3_000, id="deep and cut"),
        pytest.param(b'{"reason":"\xff"}', id="not UTF-8"),
        pytest.param(b"x" * 20_000, id="large"),
        pytest.param(b"", id="empty"),
    ],
)
def test_a_hostile_body_is_400_in_words(body: bytes) -> None:
    none: Any = None
    app = build(
        none, dict, CollectorRegistry(), lambda: 0, ObserveSettings.model_validate({"bootstrap": "x:1"})
    )
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as http:
        answer = http.post("/v1/quiet", content=body)
    assert answer.status_code == 400 and answer.json()["error"].startswith("body: ")
