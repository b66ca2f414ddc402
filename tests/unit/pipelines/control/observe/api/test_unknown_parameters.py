"""A misspelt query parameter of observe is refused: otherwise the answer would fit another question."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from pipelines.control.observe.api.routes import build
from pipelines.control.observe.settings import ObserveSettings


def asked(path: str, method: str = "GET") -> Any:
    answers: Any = None
    settings = ObserveSettings.model_validate({"bootstrap": "x:1"})
    app = build(answers, lambda: {"table": True}, CollectorRegistry(), lambda: 0, settings)
    with TestClient(app, base_url="http://127.0.0.1") as http:
        return http.request(method, path)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/v1/alarms?tennant=shop", "tennant: this route has no such parameter; did you mean 'tenant'?"),
        ("/v1/events/a/b?sinse=60", "sinse: this route has no such parameter; did you mean 'since'?"),
        ("/v1/tenants?tenant=shop", "tenant: this route has no such parameter; it takes none: leave it out"),
        ("/v1/alarms?open=true&open=false", "open: it is given more than once; give it once"),
    ],
)
def test_it_is_refused_by_its_name_with_the_nearest_one(path: str, said: str) -> None:
    answer = asked(path)
    assert (answer.status_code, answer.json()) == (400, {"error": said})


def test_a_quiet_window_is_not_removed_with_a_parameter_that_nothing_reads() -> None:
    assert asked("/v1/quiet/w?dry_run=true", "DELETE").status_code == 400


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_probes_may_add_what_they_like(method: str) -> None:
    answers = [asked(f"/{path}?x=1", method) for path in ("healthz", "readyz", "metrics")]
    assert [each.status_code for each in answers] == [200] * 3
