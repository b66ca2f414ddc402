"""Bad versions for the proof: each fault still applies to HEAD, and changes nothing else."""

import subprocess
from pathlib import Path

import pytest

from scripts.local.twins.versions import CHECKOUT
from tests.harness.bad_versions import EDITS, Edit, Fault, bad_version, commit_with, edited


def _git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.mark.parametrize("fault", list(Fault))
def test_each_fault_fits_the_present_code_and_compiles(fault: Fault) -> None:
    for file, text in edited(EDITS[fault]).items():
        compile(text, file, "exec")


@pytest.mark.parametrize("fault", list(Fault))
def test_a_bad_version_differs_from_head_in_the_files_of_its_fault_alone(fault: Fault) -> None:
    before = _git(CHECKOUT, "status", "--porcelain"), _git(CHECKOUT, "for-each-ref")
    commit = bad_version(fault)
    assert bad_version(fault) == commit, "one commit, however often"
    changed = _git(CHECKOUT, "diff", "--name-only", "HEAD", commit).splitlines()
    assert sorted(changed) == sorted({each.file for each in EDITS[fault]})
    assert (_git(CHECKOUT, "status", "--porcelain"), _git(CHECKOUT, "for-each-ref")) == before


def test_a_fault_whose_place_is_gone_is_not_made(tmp_path: Path) -> None:
    _git(tmp_path, "init", "--quiet")
    (tmp_path / "file.py").write_text("one\ntwo\none\n")
    _git(tmp_path, "add", "file.py")
    _git(tmp_path, "commit", "--quiet", "-m", "one")
    for old, times in (("one", 2), ("three", 0)):
        with pytest.raises(AssertionError, match=rf"file.py has {times} times"):
            commit_with([Edit("file.py", old, "four")], "four", tmp_path)
    commit = commit_with([Edit("file.py", "two", "four")], "four", tmp_path)
    assert _git(tmp_path, "show", f"{commit}:file.py") == "one\nfour\none\n"
    assert (tmp_path / "file.py").read_text() == "one\ntwo\none\n"
