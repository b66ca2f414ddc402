"""A side without traffic leaves the cores to the other one until it gets traffic."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from pipelines.control.deploy.backend import BackendError
from scripts.local.ports import free_base
from scripts.local.processes.programs import COLLECT
from scripts.local.twins.backend import LocalBackend
from scripts.local.twins.place import Twins
from tests.contract.local.own_program import SLEEPER, supervised
from tests.harness.session_priority import has_autogroups, priority
from tests.harness.twins_ports import TWINS_PORTS

NORMAL, LOW = 0, 5
SECONDS = 5.0

pytestmark = has_autogroups


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    found = Twins(root=tmp_path / "twins", port=free_base(count=TWINS_PORTS), partitions=1)
    found.create()
    return found


@pytest.fixture
def leaders(twins: Twins) -> Iterator[Mapping[str, int]]:
    """The session leader of each side."""
    with ExitStack() as stack:
        running = {side.name: supervised(stack, side, {COLLECT: SLEEPER}) for side in twins.sides}
        for supervisor in running.values():
            supervisor.start_program(COLLECT)
        yield {name: supervisor.leader() for name, supervisor in running.items()}


@pytest.fixture
def backend(twins: Twins) -> LocalBackend:
    return LocalBackend(twins, 0)


def priorities(leaders: Mapping[str, int]) -> Mapping[str, int]:
    return {side: priority(leader) for side, leader in leaders.items()}


def test_a_side_gives_way_from_its_start_until_it_gets_traffic(
    backend: LocalBackend, leaders: Mapping[str, int]
) -> None:
    backend.start("green", "no such version", fence=1)
    assert priorities(leaders) == {"blue": NORMAL, "green": LOW}
    for percent, wanted in ((0, LOW), (1, NORMAL)):
        with pytest.raises(BackendError):  # there is no edge
            backend.set_weights({"blue": 100 - percent, "green": percent}, fence=1)
        assert priorities(leaders) == {"blue": NORMAL, "green": wanted}


def test_a_side_takes_its_part_although_its_supervisor_does_not_answer(
    backend: LocalBackend, leaders: Mapping[str, int]
) -> None:
    backend.park("green", fence=1)
    os.kill(leaders["green"], signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(BackendError):  # there is no edge
        backend.set_weights({"blue": 0, "green": 100}, fence=1)
    took = time.monotonic() - began
    os.kill(leaders["green"], signal.SIGCONT)
    assert took < SECONDS
    assert priorities(leaders)["green"] == NORMAL


def test_a_side_with_traffic_does_not_give_way_when_it_is_started_again(
    backend: LocalBackend, leaders: Mapping[str, int]
) -> None:
    backend.start("blue", "no such version", fence=1)
    assert priorities(leaders) == {"blue": NORMAL, "green": NORMAL}


def test_a_side_gives_way_while_it_is_parked(backend: LocalBackend, leaders: Mapping[str, int]) -> None:
    backend.park("green", fence=1)
    assert priorities(leaders) == {"blue": NORMAL, "green": LOW}
