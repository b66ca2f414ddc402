"""What `hifi scale` refuses, and which workers count as having an executor."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from scripts.local.addresses import HOST
from scripts.local.ports import free_base
from scripts.local.progress import Progress
from scripts.local.side import Side
from scripts.local.workers import WorkersError, executors, scale
from tests.harness.http_server import QuietHandler, http_served

_QUIET = Progress(Console(file=StringIO()))


@contextmanager
def _master(side: Side, answer: bytes) -> Iterator[None]:
    class Master(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.respond(200, answer)

    with http_served(Master, HOST, side.master_state_port):
        yield


def test_a_worker_counts_once_an_executor_uses_its_slots(tmp_path: Path) -> None:
    side = Side(root=tmp_path, port=free_base(), workers=1)
    states = [("ALIVE", 8), ("ALIVE", 0), ("DEAD", 8), ("DECOMMISSIONED", 8)]
    workers = [{"id": state, "state": state, "coresused": used} for state, used in states]
    with _master(side, msgspec.json.encode({"url": "spark://127.0.0.1:1", "workers": workers})):
        assert executors(side) == 1


@pytest.mark.parametrize("answer", [b"", b"<html>", b'{"workers": 3}'])
def test_an_answer_that_is_none_is_not_taken_for_no_executor(tmp_path: Path, answer: bytes) -> None:
    side = Side(root=tmp_path, port=free_base(), workers=1)
    assert executors(side) is None
    with _master(side, answer):
        assert executors(side) is None


def test_a_side_whose_driver_runs_all_tasks_names_the_option_that_changes_that(tmp_path: Path) -> None:
    with pytest.raises(WorkersError, match=r"in its driver.*`hifi up --workers 1`"):
        scale(Side(root=tmp_path), 2, _QUIET)


def test_two_commands_do_not_change_the_workers_at_once(tmp_path: Path) -> None:
    side = Side(root=tmp_path, workers=1)
    side.create()
    with (side.run / "scale.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(WorkersError, match="another `hifi scale`"):
            scale(side, 2, _QUIET)
