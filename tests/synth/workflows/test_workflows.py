"""GitHub's workflows are valid and up to date, and everything that they run exists."""

import os
import re
import sys

import pytest
import yaml

from tests.proof import PARTS
from tests.synth.golang import command as go_command
from tests.synth.workflows.workflow_files import ACTIONS, FILES, FOLDER, ROOT, jobs, run, runs, tool

SOURCES = ("infra", "pipelines", "scripts", "shared", "tests")
"""Folders with code."""


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


@pytest.mark.proof
def test_actionlint_finds_nothing() -> None:
    run(go_command("github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"), *map(str, FILES))


def test_dependabot_raises_the_actions_of_every_folder() -> None:
    (actions,) = [
        each
        for each in yaml.safe_load((FOLDER / "dependabot.yml").read_text())["updates"]
        if each["package-ecosystem"] == "github-actions"
    ]
    assert set(actions["directories"]) == {"/", *(f"/.github/actions/{file.parent.name}" for file in ACTIONS)}


def test_dependabot_raises_the_jars_of_every_maven_project() -> None:
    """Dependabot reads only files of this one name."""
    (maven,) = [
        each
        for each in yaml.safe_load((FOLDER / "dependabot.yml").read_text())["updates"]
        if each["package-ecosystem"] == "maven"
    ]
    files = [file for part in SOURCES for file in (ROOT / part).rglob("*.xml")]
    projects = {file for file in files if "maven.apache.org/POM/" in file.read_text()}
    assert projects == {ROOT / folder.lstrip("/") / "pom.xml" for folder in maven["directories"]}


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


def test_shell_scripts_are_clean() -> None:
    run(tool("shellcheck"), *map(str, [*(ROOT / "scripts").rglob("*.sh"), *(ROOT / "infra").rglob("*.sh")]))


def test_every_part_of_the_proof_runs_at_night() -> None:
    nightly = yaml.safe_load((ROOT / ".github" / "workflows" / "nightly.yml").read_text())
    assert nightly["jobs"]["proof"]["strategy"]["matrix"]["part"] == [part.name for part in PARTS]
