"""GitHub's workflows: foreign actions are pinned, there is no secret, and jobs have only named rights."""

import re
from pathlib import Path

import pytest

from tests.synth.workflows.workflow_files import ACTIONS, CALLED, FILES, FOLDER, jobs, load, roles, run, tool

MAY = {"contents": "read", "id-token": "write"}


def test_zizmor_finds_nothing_unsafe() -> None:
    run(
        tool("zizmor"),
        "--offline",
        "--quiet",
        "--no-progress",
        "--config",
        str(FOLDER / "zizmor.yml"),
        str(FOLDER),
    )


@pytest.mark.parametrize("file", [*FILES, *ACTIONS], ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_foreign_action_is_pinned_by_commit_and_says_its_version(file: Path) -> None:
    for line in file.read_text().splitlines():
        if (found := re.search(r"uses: (.*)", line)) and not found[1].startswith("./"):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", found[1]), line


def test_an_action_has_one_version_everywhere() -> None:
    text = "\n".join(file.read_text() for file in (*FILES, *ACTIONS))
    pins = set(re.findall(r"uses: ([\w./-]+)@([0-9a-f]{40} # v[\d.]+)", text))
    assert len(pins) == len({action for action, _ in pins}) > 5


def test_nothing_is_permitted_but_what_a_job_names() -> None:
    for file in FILES:
        assert load(file.stem)["permissions"] == {}
    for workflow, name, job in jobs():
        comments = {"pull-requests": "write"} if (workflow, name) == ("ci", "plan") else {}
        assert job["permissions"].items() <= (MAY | comments).items(), (workflow, name)


def test_no_workflow_knows_a_secret() -> None:
    for file in (*FILES, *ACTIONS):
        assert not re.search(r"secrets\.|secrets: inherit|access-key|AKIA", file.read_text()), file


def test_aws_is_reached_by_openid_connect_alone() -> None:
    takers = [(workflow, name, job) for workflow, name, job in jobs() if roles(job)]
    assert takers
    for workflow, name, job in takers:
        assert job["permissions"]["id-token"] == "write", (workflow, name)
        if "plan-role" in roles(job):
            # The role trusts the subject `pull_request`, which a job with an environment does not have.
            assert "environment" not in job
            assert "head.repo.full_name == github.repository" in job["if"]
        else:
            # The deploy role trusts the subject of the environment, with its protection rules.
            assert job["environment"]


def test_only_jobs_that_take_a_role_or_call_one_get_a_token() -> None:
    for workflow, name, job in jobs():
        wants = bool(roles(job)) or job.get("uses") in CALLED
        assert ("id-token" in job["permissions"]) == wants, (workflow, name)
