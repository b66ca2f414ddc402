"""A side's ports and folders."""

import socket
from pathlib import Path

import pytest

from scripts.local.addresses import BROKER_IDS, HOST
from scripts.local.ports import busy_ports, free_base
from scripts.local.side import NoSideError, Side


def test_no_two_listeners_share_a_port(tmp_path: Path) -> None:
    side = Side(root=tmp_path, port=9000)
    taken = [side.collect_port, side.sink_port, side.retry_port, side.spark_port, side.trace_port]
    taken += [side.observe_port, side.console_port, side.store_port, side.canary_port, side.provision_port]
    taken += [side.api_port, side.standby_port, side.rehearsal_port]
    taken += [side.master_port, side.master_state_port]
    taken += [side.broker_port(n) for n in BROKER_IDS] + [side.controller_port(n) for n in BROKER_IDS]
    assert sorted(taken) == list(side.ports)


def test_a_side_is_found_again_by_its_folder(tmp_path: Path) -> None:
    side = Side(root=tmp_path, port=9100, partitions=4, standby=True, workers=3)
    side.create()
    assert Side.load(tmp_path) == side


def test_a_folder_without_a_side_names_the_command_that_starts_one(tmp_path: Path) -> None:
    with pytest.raises(NoSideError, match="hifi up"):
        Side.load(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"port": 8080}', '{"port": "x", "partitions": 2}'])
def test_a_half_written_description_names_the_fix(tmp_path: Path, content: str) -> None:
    (tmp_path / "side.json").write_text(content)
    with pytest.raises(NoSideError, match=r"remove it, then start the side with `hifi up`"):
        Side.load(tmp_path)


def test_a_port_with_a_listener_is_busy() -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        assert busy_ports([port]) == [port]
    assert busy_ports([port]) == []


def test_processes_that_start_together_look_for_ports_in_places_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = set()
    for pid in range(5_000, 5_200):
        monkeypatch.setattr("os.getpid", lambda pid=pid: pid)
        found.add(free_base())
    assert len(found) > 150, "some places may be taken by other programs"


def test_a_free_base_has_all_its_ports_free(tmp_path: Path) -> None:
    assert not busy_ports(Side(root=tmp_path, port=free_base()).ports)
