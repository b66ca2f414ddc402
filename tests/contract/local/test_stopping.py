"""A program in the foreground ends everything that it started, whatever happens to its terminal."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scripts.local.process_marks import kill, side_processes
from scripts.local.side import Side
from tests.harness.waiting import eventually

FOREGROUND = '''
import sys
from pathlib import Path

from rich.console import Console

from scripts.local.processes.programs import OBSERVE
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.side import Side
from scripts.local.processes.stopping import shut_down, stop_signals_interrupt
from scripts.local.up import wait_until_stopped
from tests.contract.local.own_program import own_program

SLOW_TO_END = """
import signal, time
signal.signal(signal.SIGTERM, lambda *_: (time.sleep(1.5), exit()))
time.sleep(600)
"""

root = Path(sys.argv[1])
side = Side.load(root)
supervisor, progress = Supervisor(side), Progress(Console())
stop_signals_interrupt()
try:
    supervisor.start([own_program(side, OBSERVE, [sys.executable, "-c", SLOW_TO_END])])
    supervisor.start_program(OBSERVE)
    (root / "started").touch()
    wait_until_stopped(supervisor)
except KeyboardInterrupt:
    pass
finally:
    shut_down(supervisor, progress, "stopping")
    (root / "stopped").touch()
'''


class Foreground:
    """The program, in a session of its own."""

    def __init__(self, side: Side, output: int, *, prepare: Callable[[], Any] = lambda: None) -> None:
        self.side = side
        self.process = subprocess.Popen(
            [sys.executable, "-c", FOREGROUND, str(side.root)],
            stdin=output,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509 it takes no lock
        )
        os.close(output)
        eventually((side.root / "started").exists, 120, "the program runs")

    def send(self, *numbers: signal.Signals) -> None:
        for number in numbers:
            self.process.send_signal(number)

    def wait(self) -> None:
        """Wait for its end; nothing of the side may be left."""
        self.process.wait(120)
        assert (self.side.root / "stopped").exists()
        assert not side_processes(self.side.root)


@pytest.fixture
def started(side: Side) -> Iterator[Callable[..., Foreground]]:
    running: list[Foreground] = []

    def start(output: int, **options: Any) -> Foreground:
        running.append(Foreground(side, output, **options))
        return running[-1]

    yield start
    for each in running:
        each.process.kill()
        each.process.wait()
    kill(side_processes(side.root))


def _nowhere() -> int:
    return os.open(os.devnull, os.O_RDWR)


def _takes_its_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup


def test_a_closed_terminal_ends_every_process(started: Callable[..., Foreground]) -> None:
    terminal, end = pty.openpty()
    running = started(end, prepare=_takes_its_terminal)
    os.close(terminal)  # the kernel sends SIGHUP, and each write fails from now on
    running.wait()


def test_a_pipe_without_a_reader_ends_every_process_too(started: Callable[..., Foreground]) -> None:
    reader, writer = os.pipe()
    running = started(writer)
    os.close(reader)
    running.send(signal.SIGTERM)
    running.wait()


def test_more_signals_do_not_break_off_what_the_first_one_began(started: Callable[..., Foreground]) -> None:
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    running = started(_nowhere())
    running.send(*signals)
    time.sleep(0.5)  # meanwhile it waits for a program that ends slowly
    running.send(*signals)
    running.wait()


def test_under_nohup_a_closed_terminal_ends_nothing(started: Callable[..., Foreground]) -> None:
    running = started(_nowhere(), prepare=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    running.send(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        running.process.wait(1)
    running.send(signal.SIGTERM)
    running.wait()
