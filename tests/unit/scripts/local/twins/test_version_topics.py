"""A version's own code makes its topics before a side runs it; the version is simulated."""

from contextlib import suppress
from pathlib import Path

import pytest

from scripts.local.processes.supervisor import SupervisorError
from scripts.local.side import Code, Side
from scripts.local.twins.code_start import CodeStart
from scripts.local.twins.place import Twins
from scripts.local.twins.version_topics import TopicsMissingError, ensure_topics_of
from scripts.local.twins.versions import commit_of
from tests.harness.waiting import eventually

TOPICS = """
from types import SimpleNamespace

def topic_specs(partitions):
    return [SimpleNamespace(name=name, partitions=partitions) for name in ("events", "scores")]
"""
ADMIN = """
class AdminError(Exception):
    pass

def admin_client(bootstrap):
    return bootstrap

def topic_partitions(admin):
    return {known}

def ensure_topics(bootstrap, specs, seconds):
    names = ", ".join(each.name + "/" + str(each.partitions) for each in specs)
    with open("asked", "a") as file:
        file.write(bootstrap + ": " + names + "\\n")
    {then}
"""
REFUSES = 'raise AdminError("partitions not in sync: scores/0")'


def version(folder: Path, known: dict[str, int], then: str = "") -> Path:
    """The code of a version with one more topic, on a side that has the topics `known`."""
    for package in ("contracts", "kafka"):
        (folder / "shared" / package).mkdir(parents=True)
        (folder / "shared" / package / "__init__.py").touch()
    (folder / "shared" / "__init__.py").touch()
    (folder / "shared" / "contracts" / "topics.py").write_text(TOPICS)
    admin = ADMIN.replace("{known}", repr(known)).replace("{then}", then)
    (folder / "shared" / "kafka" / "admin.py").write_text(admin)
    return folder


def asked(source: Path) -> str:
    return (source / "asked").read_text()


def failure(start: CodeStart) -> str:
    """Why the start failed; it calls a supervisor first, which does not run here."""
    with suppress(SupervisorError):
        (found,) = start.waiting_for()
        return found
    return ""


@pytest.fixture
def side(tmp_path: Path) -> Side:
    return Side(root=tmp_path / "side", port=9, partitions=3, name="green")


def test_a_topic_that_only_the_version_knows_is_made(side: Side, tmp_path: Path) -> None:
    source = version(tmp_path / "version", {"events": 3})
    ensure_topics_of(Code(version="2.0", source=source), side)
    assert asked(source) == f"{side.bootstrap}: events/3, scores/3\n"


def test_a_version_without_its_topics_is_not_started_and_says_why(tmp_path: Path) -> None:
    twins, commit = Twins(root=tmp_path, partitions=3), commit_of("HEAD")
    start = CodeStart(twins, "green", 0)
    source = version(start.versions / commit[:12], {"events": 3}, REFUSES)
    start.start(commit)
    said = eventually(lambda: failure(start), 120, "it has failed")
    assert said.startswith(f"topics of version {commit} cannot be created on green: ")
    assert said.endswith("AdminError: partitions not in sync: scores/0")
    assert asked(source).startswith(start.side.bootstrap)


def test_a_topic_with_too_few_partitions_counts_as_missing(side: Side, tmp_path: Path) -> None:
    source = version(tmp_path / "version", {"events": 3, "scores": 1}, REFUSES)
    with pytest.raises(TopicsMissingError, match="not in sync"):
        ensure_topics_of(Code(version="2.0", source=source), side)


def test_brokers_that_are_not_in_sync_do_not_keep_a_version_whose_topics_are_there(
    side: Side, tmp_path: Path
) -> None:
    """A rollback starts a side as well, whatever state its brokers are in."""
    source = version(tmp_path / "version", {"events": 3, "scores": 4}, REFUSES)
    ensure_topics_of(Code(version="2.0", source=source), side)
    assert "scores/3" in asked(source), "retentions are lengthened if they can be"
