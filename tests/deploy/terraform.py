"""Terraform's command line for one synthesised stack."""

import json
import os
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self


class TerraformError(Exception):
    """A command failed; the message is Terraform's output."""


@dataclass(frozen=True)
class Change:
    """One resource that a plan would change, the kind of change, and the differing attributes."""

    kind: str
    name: str
    actions: tuple[str, ...]
    attributes: frozenset[str]

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Read one of `resource_changes`."""
        change = document["change"]
        before, after = change["before"] or {}, change["after"] or {}
        unknown = {name for name, value in (change.get("after_unknown") or {}).items() if value is True}
        differ = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        return cls(document["type"], document["name"], tuple(change["actions"]), frozenset(differ | unknown))


@dataclass(frozen=True)
class Terraform:
    """Commands over the stack that has its Terraform JSON in `folder`."""

    folder: Path

    def init(self) -> None:
        """Find providers and set up the state backend."""
        self._run("init")

    def apply(self) -> None:
        """Create what is declared."""
        self._run("apply", "-auto-approve")

    def plan(self) -> list[Change]:
        """The changes that an apply would make; none for an up-to-date stack."""
        planned = self.folder / "planned"
        # Terraform's exit status tells whether a plan is empty: reading one takes as long as making it.
        if self._call("plan", "-detailed-exitcode", f"-out={planned}", accepted={0, 2}).returncode == 0:
            return []
        document = json.loads(self._run("show", "-json", str(planned)))
        changes = [Change.of(each) for each in document.get("resource_changes", [])]
        return [each for each in changes if each.actions not in {("no-op",), ("read",)}]

    def destroy(self) -> None:
        """Destroy everything in the stack."""
        self._run("destroy", "-auto-approve", "-refresh=false")

    def _run(self, command: str, *arguments: str) -> str:
        return self._call(command, *arguments, accepted={0}).stdout

    def _call(
        self, command: str, *arguments: str, accepted: Collection[int]
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["terraform", command, *_flags(command), *arguments],
            cwd=self.folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in accepted:
            said = f"{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
            raise TerraformError(f"terraform {command} of {self.folder.name}:\n{said}")
        return done


def environment() -> dict[str, str]:
    """Environment variables for Terraform, without the user's AWS settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**kept, "TF_IN_AUTOMATION": "1", "TF_INPUT": "0", "AWS_EC2_METADATA_DISABLED": "true"}


def _flags(command: str) -> list[str]:
    plain = {"init": ["-no-color"], "show": []}
    return plain.get(command, ["-no-color", "-compact-warnings", "-lock=false"])
