"""An open side keeps serving without a warm-up or a meter, and reports it."""

import io
import socket
import sys
from collections.abc import Iterator

import pytest
from rich.console import Console

from scripts.local.addresses import HOST
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.programs import CANARY, CONSOLE, OBSERVE
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.services import warm_open_side
from scripts.local.side import Side
from scripts.local.warmup.warmup import WarmUpLimits
from tests.contract.local.own_program import own_program

# Runs, and listens on no port.
SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def supervisor(side: Side) -> Iterator[Supervisor]:
    """Runs a meter that is never ready. The canary already runs, as on an open side."""
    running = Supervisor(side)
    running.start([own_program(side, name, SLEEPER) for name in (OBSERVE, CONSOLE, CANARY)])
    running.start_program(CANARY)
    yield running
    running.shut_down()


def test_a_side_that_is_open_serves_on_without_its_warm_up_and_its_meter_and_says_how(
    side: Side, supervisor: Supervisor
) -> None:
    screen = io.StringIO()
    progress = Progress(Console(file=screen, width=80))
    with socket.create_server((HOST, side.sink_port)):
        ready = warm_open_side(
            side, supervisor, SideProfile.ALL, progress, WarmUpLimits(seconds=0), meter_seconds=0.5
        )
    assert not ready
    warm_up, meter = [line for line in screen.getvalue().splitlines() if line.startswith("not ready ")]
    where = f"the warm-up failed: its destination cannot listen on {HOST}:{side.sink_port}: "
    assert where in warm_up and "The side serves on: it takes events" in warm_up
    assert f"the meter did not start: {CANARY} is not ready after" in meter
    assert str(side.logs / f"{CANARY}.log") in meter
    assert "The side serves on: it delivers events" in meter
    assert all("`hifi doctor`" in line for line in (warm_up, meter))
    states = supervisor.states()
    assert set(states.values()) == {"RUNNING"}, f"nothing was stopped: {states}"
