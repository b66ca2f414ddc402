"""GitHub's workflows change an environment one at a time, and only the deployer moves traffic."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.config import EnvironmentName, RunSettings, load_environment
from tests.synth.workflows.workflow_files import ASK, FILES, FOLDER, jobs, load, runs, uses

GUARDS = {
    "release": "release",
    "switch": "deploy-${{ inputs.environment }}",
    "burst": "deploy-${{ inputs.environment }}",
    "rollback": "rollback-${{ inputs.environment }}",
    "maintenance": "maintenance-${{ inputs.environment }}",
}


@pytest.mark.parametrize(("name", "group"), GUARDS.items())
def test_changes_wait_for_their_like_and_none_is_broken_off(name: str, group: str) -> None:
    assert load(name)["concurrency"] == {"group": group, "cancel-in-progress": "false"}


def test_a_rollback_waits_for_nothing_and_no_push_replaces_it() -> None:
    others = {group for name, group in GUARDS.items() if name != "rollback"}
    assert GUARDS["rollback"] not in others
    assert load("rollback")["jobs"]["rollback"]["uses"] == ASK
    assert "prepare" not in uses(load("ask")["jobs"]["ask"]), "it would install everything first"
    action = yaml.safe_load((FOLDER / "actions" / "command" / "action.yml").read_text())
    installs = "\n".join(step.get("run", "") for step in action["runs"]["steps"])
    assert "requirements-release.txt" in installs
    assert not re.search(r"make |npm |requirements(-dev)?\.txt", installs)


def test_every_workflow_that_starts_by_itself_has_a_guard() -> None:
    for file in FILES:
        # A called workflow runs in its caller's group; a group of its own would make it wait for itself.
        called = set(load(file.stem)["on"]) == {"workflow_call"}
        assert ("concurrency" in load(file.stem)) != called, file


def test_a_merge_is_tested_then_goes_to_staging_and_only_then_to_production() -> None:
    release = load("release")["jobs"]
    assert release["staging"]["needs"] == ["test"]
    assert release["approve"]["needs"] == ["staging"]
    assert release["production"]["needs"] == ["approve"]
    for name in ("staging", "production"):
        assert (release[name]["uses"], release[name]["with"]) == (
            "./.github/workflows/deploy.yml",
            {"environment": name},
        )
    taking = [
        job for name in ("ask", "deploy", "side") for job in load(name)["jobs"].values() if "steps" in job
    ]
    assert {job["environment"] for job in taking} == {"${{ inputs.environment }}"}
    assert ".ci/run" in runs(load("test")["jobs"]["test"])


def test_one_job_waits_for_a_person_and_no_take_back_or_rollback_does() -> None:
    """GitHub asks an environment's reviewers for each job that names it."""
    waiting = [
        (workflow, name) for workflow, name, job in jobs() if "approval" in str(job.get("environment"))
    ]
    assert waiting == [("release", "approve")]
    assert "permissions" in load("release")["jobs"]["approve"]
    assert not load("release")["jobs"]["approve"]["permissions"]


def test_a_version_is_published_and_then_the_deployer_alone_moves_it() -> None:
    deploy = load("deploy")["jobs"]
    assert "publish_version.sh" in runs(deploy["publish"])
    assert set(deploy["publish"]["needs"]) == {"images", "cluster"}
    assert deploy["release"]["uses"] == ASK
    assert set(deploy["release"]["needs"]) == {"images", "publish"}
    assert deploy["release"]["with"]["command"] == "deploy ${{ needs.images.outputs.version }}"
    assert set(deploy["cluster"]["needs"]) == {"images", "side"}
    assert deploy["cluster"]["strategy"]["matrix"]["side"] == ["blue", "green"]
    everything = "\n".join(runs(job) for _, _, job in jobs())
    assert not re.search(r"traffic set|kubectl|aws elbv2|scale|rollout", everything)


def test_what_moves_traffic_is_one_command_each_of_hifi() -> None:
    for name in ("switch", "burst", "rollback", "maintenance"):
        assert set(load(name)["on"]) == {"workflow_dispatch"}
    for name in ("switch", "burst", "rollback"):
        (job,) = load(name)["jobs"].values()
        assert job["uses"] == ASK
        assert re.match(rf"{name}\b", job["with"]["command"])
    (job,) = load("maintenance")["jobs"].values()
    (line,) = runs(job).strip().splitlines()
    assert line.startswith(".venv/bin/python -m scripts.cli maintenance ")


def test_the_deployer_is_asked_through_the_table_and_hears_who_asks() -> None:
    asking = [
        (workflow, step)
        for workflow, _, job in jobs()
        for step in job.get("steps", [])
        if re.search(r"scripts\.cli|side_stack\.sh", step.get("run", ""))
    ]
    assert {workflow for workflow, _ in asking} == {"ask", "maintenance", "side"}
    for workflow, step in asking:
        assert step["env"]["HIFI_DOCUMENTS_TABLE"] == "${{ steps.facts.outputs.documents-table }}", workflow
        assert step["env"]["LOGNAME"] == "${{ github.actor }}"


def test_the_dark_sides_stack_is_one_command_that_no_failure_skips() -> None:
    side = load("side")["jobs"]
    (step,) = [each for each in side["stack"]["steps"] if "run" in each]
    assert step["run"] == 'scripts/release/side_stack.sh "$SIDE"'
    assert step["env"]["SIDE"] == "${{ needs.dark.outputs.side }}"
    assert "if" not in str(side["stack"]["steps"]), "after a failure it stays closed"


def test_a_command_may_be_followed_as_long_as_its_credentials_hold() -> None:
    job = load("ask")["jobs"]["ask"]
    assert "--traffic-only" in runs(job)
    (seconds,) = [
        int(step["with"]["role-duration-seconds"])
        for step in job["steps"]
        if "role-to-assume" in step.get("with", {})
    ]
    assert seconds >= 60 * int(job["timeout-minutes"])


@pytest.mark.parametrize("name", list(EnvironmentName))
def test_images_are_built_for_the_processors_of_the_nodes(name: EnvironmentName) -> None:
    cluster = load_environment(RunSettings(environment=name)).cluster
    groups = (cluster.services, cluster.drivers, cluster.workers)
    arm = {bool(re.match(r"[a-z]+\d+g", each)) for group in groups for each in group.instance_types}
    built = {step["with"]["platforms"] for step in steps_that_build()}
    assert (arm, built) == ({True}, {"linux/arm64"})


def test_images_report_the_version_that_is_published() -> None:
    jobs = load("deploy")["jobs"]
    assert jobs["publish"]["env"]["VERSION"] == "${{ needs.images.outputs.version }}"
    name = jobs["images"]["outputs"]["version"]
    assert {step["with"]["build-args"] for step in steps_that_build()} == {f"HIFI_VERSION={name}"}


def steps_that_build() -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = load("deploy")["jobs"]["images"]["steps"]
    found = [step for step in steps if "docker/build-push-action" in step.get("uses", "")]
    assert len(found) == 2
    return found


def test_both_images_are_built_and_run_before_a_merge_and_before_a_release() -> None:
    images = load("test")["jobs"]["images"]
    built = {
        step["with"]["tags"]: step["with"]["file"]
        for step in images["steps"]
        if "docker/build-push-action" in step.get("uses", "")
    }
    (proof,) = (step for step in images["steps"] if "test_images.py" in step.get("run", ""))
    assert set(proof["env"].values()) == set(built)
    assert {Path(file).name for file in built.values()} == {"service.Dockerfile", "spark.Dockerfile"}
    for caller in ("ci", "release"):
        assert load(caller)["jobs"]["test"]["uses"] == "./.github/workflows/test.yml"
