"""Versions from git: this checkout, and commits in folders of their own."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.local.side import Code
from scripts.local.twins.place import Twins
from scripts.local.twins.versions import NoVersionError, checkout_version, code_of, kept_code, named


def _git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for content in ("one", "two"):
        (folder / "file").write_text(content)
        _git(folder, "add", "file")
        _git(folder, "commit", "--quiet", "-m", content)
    return folder


def test_a_commit_gets_a_folder_of_its_own_once(repository: Path, tmp_path: Path) -> None:
    _git(repository, "tag", "1.0", "HEAD~1")
    code = code_of("1.0", tmp_path / "versions", repository)
    assert code.version == "1.0"
    assert code.source is not None
    assert (code.source / "file").read_text() == "one"
    (code.source / "mark").touch()
    assert code_of("1.0", tmp_path / "versions", repository) == code
    assert (code.source / "mark").exists()
    assert (repository / "file").read_text() == "two"


def test_the_checkouts_own_version_runs_from_it(repository: Path, tmp_path: Path) -> None:
    assert code_of(checkout_version(repository), tmp_path, repository).source is None
    (repository / "file").write_text("three")
    assert checkout_version(repository).endswith("-dirty")
    assert code_of(checkout_version(repository), tmp_path, repository).source is None


@pytest.mark.parametrize("version", ["nine", "--all", "", "main:file"])
def test_a_version_that_does_not_exist_is_named(version: str, repository: Path, tmp_path: Path) -> None:
    with pytest.raises(NoVersionError, match="there is no version"):
        code_of(version, tmp_path, repository)


def test_a_version_is_kept_by_the_side_that_runs_it_though_its_branch_is_gone(
    repository: Path, tmp_path: Path
) -> None:
    _git(repository, "branch", "trial")
    folder, side = tmp_path / "versions", Twins(root=tmp_path).side("blue")
    runs = replace(side, code=code_of("trial", folder, repository))
    _git(repository, "branch", "--quiet", "--delete", "--force", "trial")
    assert kept_code("trial", folder, [side, runs], repository) == runs.code
    with pytest.raises(NoVersionError, match="neither git nor a side has the files of version 'trial'"):
        kept_code("trial", folder, [side], repository)


def test_a_checkout_that_was_changed_since_cannot_be_started_again(repository: Path, tmp_path: Path) -> None:
    (repository / "file").write_text("three")
    version = checkout_version(repository)
    side = replace(Twins(root=tmp_path).side("blue"), code=code_of(version, tmp_path, repository))
    assert kept_code(version, tmp_path, [side], repository) == side.code
    _git(repository, "commit", "--quiet", "--all", "-m", "three")
    with pytest.raises(NoVersionError, match="bring the checkout back to it, or start the sides again"):
        kept_code(version, tmp_path, [side], repository)


def test_a_folder_outside_git_has_one_version(tmp_path: Path) -> None:
    assert checkout_version(tmp_path) == "checkout"


def test_a_side_without_its_code_says_so(tmp_path: Path) -> None:
    side = replace(Twins(root=tmp_path).side("blue"), code=Code(version="1.0", source=tmp_path / "gone"))
    with pytest.raises(NoVersionError, match="it then runs this checkout"):
        named(side)
