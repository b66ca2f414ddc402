"""Which sides of twins are started again, and which start is remembered."""

import socket
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from scripts.local.addresses import HOST
from scripts.local.ports import free_base
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.side import Side
from scripts.local.twins.place import Twins
from scripts.local.twins.traffic import PinnedTenant, State
from scripts.local.twins.up import described_twins, start_twins, twins_up
from scripts.local.up import UpError
from tests.harness.twins_ports import TWINS_PORTS

ALL_BLUE = {"blue": 100, "green": 0}


@pytest.mark.parametrize(
    ("weights", "pinned", "started"),
    [
        (ALL_BLUE, [], ["blue"]),
        (ALL_BLUE, ["green"], ["blue", "green"]),
        (ALL_BLUE, ["blue"], ["blue"]),
        ({"blue": 0, "green": 100}, [], ["green"]),
        ({"blue": 50, "green": 50}, [], ["blue", "green"]),
    ],
)
def test_the_sides_with_a_share_or_a_pinned_customer_are_started(
    weights: dict[str, int],
    pinned: list[str],
    started: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    twins = Twins(root=tmp_path / "twins", profile=SideProfile.BROKERS)
    twins.create()
    tenants = {f"customer-{side}": PinnedTenant(side=side, keys=["key"]) for side in pinned}
    state = State(weights=weights, lead="blue", pinned=tenants)
    twins.edge.state.write_bytes(msgspec.json.encode(state))
    found = list[str]()

    def note(side: Side, *_: object) -> bool:
        found.append(side.name)
        return True

    monkeypatch.setattr("scripts.local.twins.up._start_side", note)
    supervisors = {side.name: Supervisor(side) for side in twins.sides}
    start_twins(twins, supervisors, Progress(Console(quiet=True)), 0)
    assert found == started


@pytest.mark.parametrize("place", ["edge", "green"])
def test_ports_that_are_refused_are_not_those_of_the_next_start(place: str, tmp_path: Path) -> None:
    root, wanted = tmp_path / "twins", free_base(count=TWINS_PORTS)
    before = described_twins(root, None, None, SideProfile.BROKERS)
    refused = described_twins(root, wanted, 3, SideProfile.BROKERS)
    busy = (refused.edge if place == "edge" else refused.side("green")).ports[1]
    progress = Progress(Console(quiet=True))
    with socket.create_server((HOST, busy)):
        with pytest.raises(UpError, match=f"ports in use: {busy}"), twins_up(refused, progress, 0):
            pass
        assert described_twins(root, None, None, SideProfile.BROKERS) == before, "a first start"
        before.create()
        with pytest.raises(UpError, match=f"ports in use: {busy}"), twins_up(refused, progress, 0):
            pass
        assert described_twins(root, None, None, SideProfile.BROKERS) == before
