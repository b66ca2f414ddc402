"""The API does what its OpenAPI description says, for all requests: schemathesis draws them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from shared.contracts.scorecard import DayCard, DayMark, EventSearch, MinuteCard, Now, Percentiles
from tests.contract.management.api_process import NEW, ApiProcess, running_api
from tests.harness.scripted_observe import scripted_observe

pytestmark = pytest.mark.timeout(1_300)

SEED = "20261123"
LEFT_OUT = ("--exclude-checks", "positive_data_acceptance", "--exclude-path-regex", "/tail$")
"""No schema says that a pipe's source must exist or a write needs a condition; tails last ten minutes."""

SECONDS = 1_200
REQUEST_SECONDS = "60"
_CARD: Final = MinuteCard(tenant="0", minute=7, settled=True)
METER: Final = {
    "/v1/now": Now(
        tenant="0",
        at_ms=1,
        rate=0.0,
        end_to_end=Percentiles(),
        inside=Percentiles(),
        loss_percent=0.0,
        nines=None,
        behind_seconds=0.0,
        behind=False,
        open_alarms=0,
    ),
    "/v1/minutes": [_CARD],
    "/v1/minutes/*": _CARD,
    "/v1/days/*": DayCard(tenant="0", day="2026-01-31"),
    "/v1/calendar": [DayMark(day="2026-01-31", nines=None, spent=0, minutes=1, lost=0)],
    "/v1/events/*": EventSearch(places=[], complete=True),
    "/v1/*": [],
}
"""observe's answers for every tenant."""


def _found(api: ApiProcess, folder: Path, token: str | None, examples: int) -> str:
    """The complaints of schemathesis; empty without any."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{api.url}/openapi.json"]
    options = ["--max-examples", str(examples), "--seed", SEED, "--no-color", "--warnings", "off"]
    options += ["--request-timeout", REQUEST_SECONDS]
    header = [] if token is None else ["--header", f"Authorization: Bearer {token}"]
    done = subprocess.run(
        [*command, *options, *LEFT_OUT, *header],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _filled(api: ApiProcess) -> None:
    """A tenant with a document of each kind, so that some requests find one."""
    root = "/v1/tenants/0"
    for path, body in (
        ("sources/0", {}),
        ("destinations/0", {"options": {"url": "https://example.com/hook"}}),
        ("pipes/0", {"source": "0", "destination": "0", "rollout": {"steps": [1, 100]}}),
        ("contacts/0", {"webhook": "https://example.com/hook"}),
    ):
        answer = api.ask("PUT", f"{root}/{path}", body, NEW)
        assert answer.status == 201, answer.text


@pytest.fixture(scope="module")
def api(
    configured: str, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiProcess]:
    """A separate process: an operator with random requests disturbs other tests."""
    folder = tmp_path_factory.mktemp("api")
    with (
        scripted_observe() as observe,
        running_api(folder, dynamodb_local, bootstrap=configured, observe_url=observe.url) as process,
    ):
        observe.replies = METER
        yield process


@pytest.mark.parametrize(
    "role", ["operator", *(pytest.param(role, marks=pytest.mark.proof) for role in ("viewer", "nobody"))]
)
def test_every_answer_is_one_that_the_description_declares(
    api: ApiProcess, tmp_path: Path, role: str
) -> None:
    if role == "operator":
        _filled(api)
    token = {"operator": api.operator, "viewer": api.token("0", "viewer"), "nobody": None}[role]
    assert not (said := _found(api, tmp_path, token, 3)), said


@pytest.mark.proof
def test_every_answer_to_very_many_requests_is_declared(
    topics: str, dynamodb_local: str, tmp_path: Path
) -> None:
    with scripted_observe() as observe:
        observe.replies = METER
        api = ApiProcess(tmp_path, dynamodb_local, bootstrap=topics, observe_url=observe.url)
        try:
            _filled(api)
            assert not (said := _found(api, tmp_path, api.operator, 100)), said
        finally:
            api.kill()
