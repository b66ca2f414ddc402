"""Which sides of twins are started again."""

from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from scripts.local.processes.profile import SideProfile
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.side import Side
from scripts.local.twins.place import Twins
from scripts.local.twins.traffic import PinnedTenant, State
from scripts.local.twins.up import start_twins

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
