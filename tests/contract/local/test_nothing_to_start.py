"""Where no side can start or none runs, `hifi up` and `down` give the reason and change nothing."""

import socket
from pathlib import Path

import pytest

from scripts.local.kafka.cluster import Cluster
from scripts.local.ports import free_base
from scripts.local.side import Side
from tests.harness.command_line import Done, Hifi


def hifi(*arguments: str) -> Done:
    return Hifi(None, {}).run(*arguments)


def test_another_side_on_the_same_ports_is_refused_with_the_owner(brokers: Cluster, tmp_path: Path) -> None:
    other = hifi("up", "--data", str(tmp_path / "other"), "--port", str(brokers.side.port))
    assert other.returncode == 1
    assert "ports in use" in other.stderr
    assert "java" in other.stderr


def test_down_without_a_side_says_so(tmp_path: Path) -> None:
    stopped = hifi("down", "--data", str(tmp_path))
    assert stopped.returncode == 0
    assert "no side is running" in stopped.stdout


def test_up_on_a_file_instead_of_a_folder_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = hifi("up", "--data", str(tmp_path / "file" / "below"))
    assert refused.returncode == 1
    assert "cannot be used as data folder" in refused.stderr


def test_checkpoints_without_their_brokers_are_refused(tmp_path: Path) -> None:
    side = Side(root=tmp_path)
    side.create()
    (side.checkpoints / "ingest").mkdir()
    refused = hifi("up", "--data", str(tmp_path), "--port", str(free_base()))
    assert refused.returncode == 1
    assert f"remove {tmp_path} to start from nothing" in refused.stderr.replace("\n", "")


@pytest.mark.parametrize("option", [(), ("--twins",)])
def test_up_does_not_empty_a_folder_of_the_users_own(tmp_path: Path, option: tuple[str, ...]) -> None:
    mine = tmp_path / "tmp" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("kept")
    with socket.create_server(("127.0.0.1", 0)) as taken:  # a side could not start
        port = str(taken.getsockname()[1])
        refused = hifi("up", *option, "--data", str(tmp_path), "--port", port)
    assert refused.returncode == 1
    assert "name a new folder by --data" in refused.stderr.replace("\n", " ")
    assert list(tmp_path.rglob("*")) == [mine.parent, mine]
