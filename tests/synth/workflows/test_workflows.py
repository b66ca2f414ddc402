"""GitHub's workflows: valid, pinned, without a secret, one change of an environment at a time."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.config import EnvironmentName, RunSettings, load_environment
from tests.proof import PARTS
from tests.synth.golang import command as go_command

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / ".github"
FILES = sorted((FOLDER / "workflows").glob("*.yml"))
ACTIONS = sorted((FOLDER / "actions").glob("*/action.yml"))
GUARDS = {
    "release": "release",
    "switch": "deploy-${{ inputs.environment }}",
    "burst": "deploy-${{ inputs.environment }}",
    "rollback": "rollback-${{ inputs.environment }}",
    "maintenance": "maintenance-${{ inputs.environment }}",
}
CALLED = {f"./.github/workflows/{name}.yml" for name in ("ask", "deploy", "side")}
"""Workflows that take a role."""

SOURCES = ("infra", "pipelines", "scripts", "shared", "tests")
"""Folders with code."""

ASK = "./.github/workflows/ask.yml"

MAY = {"contents": "read", "id-token": "write"}

Workflow = dict[str, Any]


def load(name: str) -> Workflow:
    # YAML 1.1 reads the key `on` as true.
    loaded = yaml.load((FOLDER / "workflows" / f"{name}.yml").read_text(), Loader=yaml.BaseLoader)
    assert isinstance(loaded, dict)
    return loaded


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for file in FILES:
        for name, job in load(file.stem)["jobs"].items():
            yield file.stem, name, job


def uses(job: dict[str, Any]) -> str:
    return "\n".join(step.get("uses", "") for step in job.get("steps", []))


def runs(job: dict[str, Any]) -> str:
    return "\n".join(step.get("run", "") for step in job.get("steps", []))


def roles(job: dict[str, Any]) -> str:
    taken = [step.get("with", {}).get("role-to-assume") for step in job.get("steps", [])]
    return "\n".join(role for role in taken if role)


def tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_files_fit_githubs_schemas() -> None:
    assert FILES
    assert ACTIONS
    run(tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *map(str, FILES))
    run(tool("check-jsonschema"), "--builtin-schema", "vendor.github-actions", *map(str, ACTIONS))


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("dependabot", "dependabot.yml"),
        ("github-issue-config", "ISSUE_TEMPLATE/config.yml"),
        ("github-issue-forms", "ISSUE_TEMPLATE/bug.yml"),
        ("github-issue-forms", "ISSUE_TEMPLATE/feature.yml"),
    ],
)
def test_dependabot_and_the_issue_forms_follow_github_s_schemas(schema: str, file: str) -> None:
    run(tool("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", str(FOLDER / file))


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


@pytest.mark.proof
def test_actionlint_finds_nothing() -> None:
    run(go_command("github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"), *map(str, FILES))


@pytest.mark.parametrize("file", [*FILES, *ACTIONS], ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_foreign_action_is_pinned_by_commit_and_says_its_version(file: Path) -> None:
    for line in file.read_text().splitlines():
        if (found := re.search(r"uses: (.*)", line)) and not found[1].startswith("./"):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", found[1]), line


def test_an_action_has_one_version_everywhere() -> None:
    text = "\n".join(file.read_text() for file in (*FILES, *ACTIONS))
    pins = set(re.findall(r"uses: ([\w./-]+)@([0-9a-f]{40} # v[\d.]+)", text))
    assert len(pins) == len({action for action, _ in pins}) > 5


def test_dependabot_raises_the_actions_of_every_folder() -> None:
    (actions,) = [
        each
        for each in yaml.safe_load((FOLDER / "dependabot.yml").read_text())["updates"]
        if each["package-ecosystem"] == "github-actions"
    ]
    assert set(actions["directories"]) == {"/", *(f"/.github/actions/{file.parent.name}" for file in ACTIONS)}


def test_dependabot_raises_the_jars_of_every_maven_project() -> None:
    """It reads files of this one name only."""
    (maven,) = [
        each
        for each in yaml.safe_load((FOLDER / "dependabot.yml").read_text())["updates"]
        if each["package-ecosystem"] == "maven"
    ]
    files = [file for part in SOURCES for file in (ROOT / part).rglob("*.xml")]
    projects = {file for file in files if "maven.apache.org/POM/" in file.read_text()}
    assert projects == {ROOT / folder.lstrip("/") / "pom.xml" for folder in maven["directories"]}


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
        # A called workflow runs in its caller's group; with a group of its own it would wait for itself.
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
    """GitHub asks the reviewers of an environment for each job that names it."""
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


def test_what_runs_within_seconds_needs_no_more_packages_than_it_installs() -> None:
    modules = {"infra.workloads.outputs", "infra.workloads.values", "infra.workloads.cluster_values"}
    modules |= {"scripts.release.traffic", "scripts.release.publish_version", "scripts.cli.main"}
    modules |= {f"scripts.cli.commands.{name}" for name in COMMANDS}
    run(sys.executable, "-c", ONLY_THESE, str(ROOT / "requirements-release.txt"), *sorted(modules))


COMMANDS = ("deploy", "rollback", "switch", "burst", "maintenance", "sides")
ONLY_THESE = """
import importlib, re, sys
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions

def plain(name):
    return re.sub("[-_.]+", "-", name).lower()

pinned = {plain(line.partition("==")[0]) for line in open(sys.argv[1]) if "==" in line}
known = packages_distributions()

class Installed:
    def find_spec(self, name, path=None, target=None):
        found = {plain(each) for each in known.get(name, ())} - {"hifi"}
        if found and not found & pinned:
            return None
        return PathFinder.find_spec(name, path, target)

sys.meta_path = [Installed() if each is PathFinder else each for each in sys.meta_path]
for each in sys.argv[2:]:
    importlib.import_module(each)
"""


def test_every_script_and_module_that_is_run_is_there() -> None:
    texts = [runs(job) for _, _, job in jobs()]
    texts += [script.read_text() for script in (ROOT / "scripts" / "release").glob("*.sh")]
    named = set(re.findall(r"scripts/[\w/]+\.sh", "\n".join(texts)))
    assert len(named) > 5
    for script in named:
        assert os.access(ROOT / script, os.X_OK), script
    for module in re.findall(r"python -m (scripts[\w.]+|infra[\w.]+)", "\n".join(texts)):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


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


def test_shell_scripts_are_clean() -> None:
    run(tool("shellcheck"), *map(str, [*(ROOT / "scripts").rglob("*.sh"), *(ROOT / "infra").rglob("*.sh")]))


def test_every_part_of_the_proof_runs_at_night() -> None:
    nightly = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())
    assert nightly["jobs"]["proof"]["strategy"]["matrix"]["part"] == [part.name for part in PARTS]
