"""GitHub's workflows and actions as files, and the tools that check them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / ".github"
FILES = sorted((FOLDER / "workflows").glob("*.yml"))
ACTIONS = sorted((FOLDER / "actions").glob("*/action.yml"))
ASK = "./.github/workflows/ask.yml"
CALLED = {f"./.github/workflows/{name}.yml" for name in ("ask", "deploy", "side")}
"""Workflows that assume a role."""

Workflow = dict[str, Any]


def load(name: str) -> Workflow:
    """The workflow in a file, each value as text."""
    # YAML 1.1 reads the key `on` as true.
    loaded = yaml.load((FOLDER / "workflows" / f"{name}.yml").read_text(), Loader=yaml.BaseLoader)
    assert isinstance(loaded, dict)
    return loaded


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each job of all workflows: the workflow's name, the job's name, and the job."""
    for file in FILES:
        for name, job in load(file.stem)["jobs"].items():
            yield file.stem, name, job


def uses(job: dict[str, Any]) -> str:
    """The actions that a job uses, one a line."""
    return "\n".join(step.get("uses", "") for step in job.get("steps", []))


def runs(job: dict[str, Any]) -> str:
    """The shell text of all its steps."""
    return "\n".join(step.get("run", "") for step in job.get("steps", []))


def roles(job: dict[str, Any]) -> str:
    """The roles that it assumes, one a line; empty without any."""
    taken = [step.get("with", {}).get("role-to-assume") for step in job.get("steps", [])]
    return "\n".join(role for role in taken if role)


def tool(name: str) -> str:
    """The path of a program beside this Python."""
    return str(Path(sys.executable).with_name(name))


def run(*command: str) -> None:
    """Run a check in the root of the checkout; a failure shows its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
