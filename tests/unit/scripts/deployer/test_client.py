"""`hifi deploy` requests a commit on local sides, and the name of a stored version on others."""

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import typer
from msgspec.structs import replace

from scripts.deployer.client import DeployerClient
from scripts.deployer.watch import followed
from scripts.local.side import Shared, Side
from scripts.local.twins.version_names import released_name
from scripts.local.twins.versions import NoVersionError
from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release, SideState
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.release_store import ReleaseStore
from tests.harness.git_repository import commit_file, git, new_repository
from tests.harness.local_aws import local_aws

NOW_MS = 1_800_000_000_000


@pytest.fixture
def store() -> Iterator[str]:
    """URL of a table that a deployer of two sides has just written."""
    with local_aws() as url:
        DocumentTable(DOCUMENTS_TABLE, url).ensure()
        releases = ReleaseStore(DOCUMENTS_TABLE, url)
        for side in ("blue", "green"):
            releases.put_side(SideState(side=side, at_ms=NOW_MS))
        yield url


@pytest.fixture
def data(store: str, tmp_path: Path) -> Path:
    """Folder of a local side with this table."""
    Side(
        root=tmp_path / "blue", port=9, name="blue", shared=Shared(folder=tmp_path, store_url=store)
    ).create()
    return tmp_path / "blue"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository")


def client(data: Path, repository: Path) -> DeployerClient:
    return DeployerClient(data, lambda: NOW_MS, partial(released_name, repository=repository))


def test_a_branch_is_released_as_the_commit_that_it_means_when_the_release_is_asked_for(
    store: str, data: Path, repository: Path
) -> None:
    asked = client(data, repository).ask(Kind.DEPLOY, "main")
    assert asked.version == git(repository, "rev-parse", "main")
    moved = commit_file(repository, "three")
    assert ReleaseStore(DOCUMENTS_TABLE, store).current() == asked, "the branch is not looked up again"
    done(store, asked)
    again = client(data, repository).ask(Kind.DEPLOY, "main")
    assert again.version == moved


def test_a_switch_after_the_branch_has_moved_names_no_branch(
    store: str, data: Path, repository: Path
) -> None:
    deployed = done(store, client(data, repository).ask(Kind.DEPLOY, "main"))
    commit_file(repository, "three")
    back = done(store, client(data, repository).ask(Kind.ROLLBACK))
    assert (back.version, back.former_version) == ("1.0", deployed.version)
    assert client(data, repository).ask(Kind.SWITCH).version == "", "that of the side that serves"


def test_a_version_that_git_does_not_know_is_refused_before_anything_is_asked(
    store: str, data: Path, repository: Path
) -> None:
    with pytest.raises(NoVersionError, match="there is no version 'nine'"):
        client(data, repository).ask(Kind.DEPLOY, "nine")
    assert ReleaseStore(DOCUMENTS_TABLE, store).current() is None


def test_a_stored_version_of_sides_elsewhere_keeps_its_name(
    store: str, data: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIFI_DOCUMENTS_TABLE", DOCUMENTS_TABLE)
    monkeypatch.setenv("HIFI_DOCUMENTS_ENDPOINT", store)
    assert client(data, repository).ask(Kind.DEPLOY, "main").version == "main"


class InterruptedClient(DeployerClient):
    """Ctrl-C arrives while the client looks at the release."""

    def current(self) -> Release | None:
        os.kill(os.getpid(), signal.SIGINT)
        return super().current()


def test_ctrl_c_ends_the_view_of_a_release_as_an_interruption_and_leaves_the_release(
    store: str, data: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = client(data, repository).ask(Kind.DEPLOY, "main")
    with pytest.raises(typer.Exit) as ended:
        followed(InterruptedClient(data, lambda: NOW_MS), asked, detach=False)
    assert ended.value.exit_code == 130
    assert "the release goes on" in capsys.readouterr().err
    assert ReleaseStore(DOCUMENTS_TABLE, store).current() == asked


def done(store: str, asked: Release) -> Release:
    """A release that a deployer has completed."""
    sides = {"target": "green", "former": "blue", "former_version": "1.0"} if not asked.target else {}
    ended = ReleaseStore(DOCUMENTS_TABLE, store).put(replace(asked, step=Step.DONE, **sides))
    assert ended is not None
    return ended
