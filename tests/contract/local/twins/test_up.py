"""Twins serve their customers even if one of them did not get warm."""

import io
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from rich.console import Console

from scripts.local.addresses import HOST
from scripts.local.ports import free_base
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.programs import API, COLLECT, PROVISION, RETRY
from scripts.local.processes.spark_programs import SPARK
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.twins import up
from scripts.local.twins.place import Twins
from scripts.local.twins.programs import DEPLOY
from scripts.local.twins.up import EDGE, start_twins
from tests.contract.local.own_program import SLEEPER, supervised
from tests.harness.http_server import QuietHandler, http_served
from tests.harness.session_priority import has_autogroups, priority
from tests.harness.twins_ports import TWINS_PORTS

DRIVER = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
time.sleep(600)
"""
"""Reports at once that its queries process data."""


class Ready(QuietHandler, BaseHTTPRequestHandler):
    """Answers like a ready service."""

    def do_GET(self) -> None:
        self.respond(200, b"{}")


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    found = Twins(
        root=tmp_path / "twins", port=free_base(count=TWINS_PORTS), partitions=1, profile=SideProfile.CHAIN
    )
    found.create()
    return found


@pytest.fixture
def supervisors(twins: Twins) -> Iterator[Mapping[str, Supervisor]]:
    """Supervisors of both sides and the edge; programs do nothing, and those with traffic are ready."""
    blue = twins.side("blue")
    with ExitStack() as stack:
        for port in (blue.provision_port, blue.collect_port, blue.retry_port, blue.api_port):
            stack.enter_context(http_served(Ready, HOST, port))
        driver = [sys.executable, "-c", DRIVER, str(blue.spark_ready)]
        idle = dict.fromkeys((PROVISION, API, COLLECT, RETRY), SLEEPER)
        yield {
            "blue": supervised(stack, blue, idle | {SPARK: driver}),
            "green": supervised(stack, twins.side("green"), idle),
            EDGE: supervised(stack, twins.edge, {DEPLOY: SLEEPER}),
        }


def test_a_side_whose_warm_up_fails_serves_on_and_is_not_taken_for_warm(
    twins: Twins, supervisors: Mapping[str, Supervisor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up, "_wait_for_deployer", lambda _: None)  # needs the store of both sides
    screen, blue = io.StringIO(), twins.side("blue")
    with socket.create_server((HOST, blue.sink_port)):
        ready = start_twins(twins, supervisors, Progress(Console(file=screen, width=80)), 0)
    assert not ready
    said = screen.getvalue()
    assert "the warm-up failed: its destination cannot listen on" in said
    assert "The side serves on" in said
    assert set(supervisors["blue"].states().values()) == {"RUNNING"}, "nothing was stopped"
    assert supervisors[EDGE].states()[DEPLOY] == "RUNNING", "a release can put it right"
    assert not (blue.run / "warm.ready").exists()


@has_autogroups
def test_the_side_without_traffic_leaves_the_cores_to_the_other_one(
    twins: Twins, supervisors: Mapping[str, Supervisor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up, "_wait_for_deployer", lambda _: None)
    with socket.create_server((HOST, twins.side("blue").sink_port)):  # without waiting for a warm-up
        start_twins(twins, supervisors, Progress(Console(file=io.StringIO(), width=80)), 0)
    blue, green = (priority(supervisors[side].leader()) for side in ("blue", "green"))
    assert blue < green
