"""Versions from git: this checkout, and commits in folders of their own."""

from dataclasses import replace
from pathlib import Path

import pytest

from scripts.local.side import Code
from scripts.local.twins.place import Twins
from scripts.local.twins.version_names import may_move, released_name
from scripts.local.twins.versions import NoVersionError, checkout_version, code_of, kept_code, named
from tests.harness.git_repository import commit_file, git, new_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository")


def test_a_commit_gets_a_folder_of_its_own_once(repository: Path, tmp_path: Path) -> None:
    git(repository, "tag", "1.0", "HEAD~1")
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
    git(repository, "branch", "trial")
    folder, side = tmp_path / "versions", Twins(root=tmp_path).side("blue")
    runs = replace(side, code=code_of("trial", folder, repository))
    git(repository, "branch", "--quiet", "--delete", "--force", "trial")
    assert kept_code("trial", folder, [side, runs], repository) == runs.code
    with pytest.raises(NoVersionError, match="neither git nor a side has the files of version 'trial'"):
        kept_code("trial", folder, [side], repository)


def test_a_version_that_was_named_by_a_branch_is_started_again_as_it_was_though_the_branch_has_moved(
    repository: Path, tmp_path: Path
) -> None:
    folder, blue, green = tmp_path / "versions", *Twins(root=tmp_path).sides
    version = released_name("main", repository)
    deployed = replace(green, code=code_of(version, folder, repository))
    moved = commit_file(repository, "three")
    for name in ("main", "HEAD"):
        assert released_name(name, repository) == moved != version, "it is another version by now"
    # A switch, a rollback and a release's way back start a side's version, on either side.
    again = kept_code(version, folder, [blue, deployed], repository)
    assert again.source is not None
    assert (again.source / "file").read_text() == "two"


def test_a_name_that_may_move_is_known_from_one_that_stays(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "--annotate", "1.0", "-m", "1.0")
    own = checkout_version(repository)
    commit_file(repository, "three")
    for stays in (commit, commit[:12], own, checkout_version(repository)):
        assert not may_move(stays, repository), stays
    for moves in ("main", "HEAD", "HEAD~1", "1.0", "@{-0}"):
        assert may_move(moves, repository), moves


def test_a_checkout_at_a_tag_keeps_its_code_though_the_tag_is_moved(repository: Path, tmp_path: Path) -> None:
    git(repository, "tag", "--annotate", "latest", "-m", "latest")
    version = checkout_version(repository)
    commit_file(repository, "three")
    git(repository, "tag", "--annotate", "--force", "latest", "-m", "latest")
    again = code_of(version, tmp_path / "versions", repository)
    assert again.source is not None
    assert (again.source / "file").read_text() == "two"


def test_a_changed_checkout_keeps_its_name_when_it_is_released(repository: Path) -> None:
    (repository / "file").write_text("three")
    version = checkout_version(repository)
    assert released_name(version, repository) == version
    assert not may_move(version, repository)


def test_a_checkout_that_was_changed_since_cannot_be_started_again(repository: Path, tmp_path: Path) -> None:
    (repository / "file").write_text("three")
    version = checkout_version(repository)
    side = replace(Twins(root=tmp_path).side("blue"), code=code_of(version, tmp_path, repository))
    assert kept_code(version, tmp_path, [side], repository) == side.code
    git(repository, "commit", "--quiet", "--all", "-m", "three")
    with pytest.raises(NoVersionError, match="bring the checkout back to it, or start the sides again"):
        kept_code(version, tmp_path, [side], repository)


def test_a_folder_outside_git_has_one_version(tmp_path: Path) -> None:
    assert checkout_version(tmp_path) == "checkout"


def test_a_side_without_its_code_says_so(tmp_path: Path) -> None:
    side = replace(Twins(root=tmp_path).side("blue"), code=Code(version="1.0", source=tmp_path / "gone"))
    with pytest.raises(NoVersionError, match="it then runs this checkout"):
        named(side)
