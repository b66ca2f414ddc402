"""Runs checkov over synthesised stacks and reads the accepted findings."""

import json
import subprocess
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, order=True)
class Finding:
    """A failed check of a resource."""

    check: str
    path: str
    title: str


@dataclass(frozen=True)
class Exempt:
    """An accepted finding and its reason."""

    check: str
    path: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        return finding.check == self.check and fnmatchcase(finding.path, self.path)


def read_exceptions(path: Path) -> list[Exempt]:
    return [Exempt(**entry) for entry in yaml.safe_load(path.read_text())]


def scan(checkov: str, stacks: Path) -> list[Finding]:
    """Run checkov on a folder of stacks.

    Raises:
        AssertionError: It read nothing, or could not read all.
    """
    options = ["--framework", "terraform_json", "--quiet", "--compact", "--skip-download", "--output", "json"]
    done = subprocess.run(
        [checkov, "--directory", str(stacks), *options], capture_output=True, text=True, check=False
    )
    report = json.loads(done.stdout)
    assert "results" in report, done.stdout + done.stderr
    assert not report["summary"]["parsing_errors"], done.stderr
    assert report["summary"]["passed"], "checkov read no resource"
    paths = _construct_paths(stacks)
    return sorted(_finding(each, paths) for each in report["results"]["failed_checks"])


def _finding(failed: dict[str, Any], paths: dict[tuple[str, str], str]) -> Finding:
    stack = Path(failed["file_path"]).parent.name
    name = failed["resource"].rsplit(".", 1)[1]
    return Finding(failed["check_id"], paths.get((stack, name), f"{stack}/{name}"), failed["check_name"])


def _construct_paths(stacks: Path) -> dict[tuple[str, str], str]:
    """(stack, Terraform name of a resource) -> path of its construct."""
    paths = {}
    for file in stacks.glob("*/cdk.tf.json"):
        for named in json.loads(file.read_text()).get("resource", {}).values():
            for name, resource in named.items():
                paths[file.parent.name, name] = resource["//"]["metadata"]["path"]
    return paths
