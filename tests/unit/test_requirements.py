"""The lock files match pyproject.toml; run `make lock` after a change of its dependencies."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

_ROOT = Path(__file__).parents[2]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
_RUN = [Requirement(line) for line in _PROJECT["dependencies"]]
_DEV = [Requirement(line) for line in _PROJECT["optional-dependencies"]["dev"]]


def _locked(name: str) -> dict[str, list[Version]]:
    found: dict[str, list[Version]] = {}
    for package, version in re.findall(r"(?m)^([A-Za-z0-9._-]+)==(\S+)", (_ROOT / name).read_text()):
        found.setdefault(canonicalize_name(package), []).append(Version(version))
    return found


@pytest.mark.parametrize("requirement", _RUN, ids=lambda r: str(r.name))
def test_runtime_packages_are_locked_within_their_range(requirement: Requirement) -> None:
    versions = _locked("requirements.txt").get(canonicalize_name(requirement.name), [])
    assert versions
    assert all(version in requirement.specifier for version in versions)


@pytest.mark.parametrize("requirement", _RUN + _DEV, ids=lambda r: str(r.name))
def test_test_packages_are_locked_within_their_range(requirement: Requirement) -> None:
    versions = _locked("requirements-dev.txt").get(canonicalize_name(requirement.name), [])
    assert versions
    assert all(version in requirement.specifier for version in versions)


def test_tests_run_on_the_versions_that_are_shipped() -> None:
    tested, shipped = _locked("requirements-dev.txt"), _locked("requirements.txt")
    assert {name: tested.get(name) for name in shipped} == shipped


@pytest.mark.parametrize("name", ["requirements-build.txt", "requirements.txt", "requirements-dev.txt"])
def test_every_locked_package_has_a_hash_and_no_place(name: str) -> None:
    text = (_ROOT / name).read_text()
    packages = re.findall(r"(?m)^[A-Za-z0-9._-]+==.*", text)
    assert packages
    assert len(re.findall(r"(?m)^[A-Za-z0-9._-]+==.*\\\n\s+--hash=sha256:", text)) == len(packages)
    assert "://" not in text
