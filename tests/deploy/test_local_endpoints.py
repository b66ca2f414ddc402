"""Choice of the local endpoint, and the report of a deployment to it."""

from pathlib import Path

import pytest

from scripts.aws.localstack import Way, choose, host_environment
from scripts.aws.progress import EVERY_S, Progress

PYTHON = Path("python3.13")


@pytest.mark.parametrize(
    ("engine", "python", "way"),
    [
        (True, PYTHON, Way.DOCKER),
        (True, None, Way.DOCKER),
        (False, PYTHON, Way.HOST),
        (False, None, Way.MOTO),
    ],
)
def test_localstack_is_preferred_and_moto_always_works(engine: bool, python: Path | None, way: Way) -> None:
    assert choose(asked=None, engine=engine, interpreter=python) is way


def test_a_user_may_ask_for_moto_where_localstack_could_run() -> None:
    assert choose(asked="moto", engine=True, interpreter=PYTHON) is Way.MOTO


@pytest.mark.parametrize(
    ("asked", "fix"), [("docker", "start one"), ("host", "python3.13"), ("aws", "give one of")]
)
def test_a_way_that_is_unavailable_names_the_fix(asked: str, fix: str) -> None:
    with pytest.raises(ValueError, match=fix):
        choose(asked=asked, engine=False, interpreter=None)


def test_localstack_listens_on_loopback_and_inherits_no_credentials() -> None:
    environment = host_environment(4566, {"PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "secret"})
    assert environment["GATEWAY_LISTEN"] == "127.0.0.1:4566"
    assert "secret" not in environment.values()


def test_a_deployment_reports_progress_and_every_error_in_full() -> None:
    progress = Progress("blue", started=100.0)
    changes = {"operation": "plan", "add": 2, "change": 0, "remove": 0}
    planned = {"type": "change_summary", "@message": "Plan: 2 to add", "changes": changes}
    looked_up = {"type": "apply_complete", "@message": "read", "hook": {"action": "read"}}
    done = {"type": "apply_complete", "@message": "aws_vpc.main: done", "hook": {"action": "create"}}
    warning = {"type": "diagnostic", "@message": "old", "diagnostic": {"severity": "warning"}}
    error = {
        "type": "diagnostic",
        "@message": "Error: no zone",
        "diagnostic": {"severity": "error", "address": "aws_vpc.other", "detail": "give one"},
    }
    assert list(progress.lines(planned, 101.0)) == ["blue: Plan: 2 to add"]
    assert [*progress.lines(looked_up, 101.5), *progress.lines(done, 102.0)] == []
    later = 100.0 + EVERY_S
    assert list(progress.lines(warning, later)) == ["blue: 1 of 2 done after 10 s"]
    assert list(progress.lines(done, later + 1)) == []
    assert list(progress.lines(error, later + 1)) == ["blue: Error: no zone\n  aws_vpc.other\n  give one"]
