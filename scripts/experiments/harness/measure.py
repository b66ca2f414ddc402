"""Measures one load on a running chain, from the first request until everything has arrived."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from scripts.experiments.harness import cpu
from scripts.experiments.harness.documents import NAME, WRITE_KEY
from scripts.experiments.harness.load import offer_load
from scripts.experiments.harness.reconciliation import reconcile
from scripts.experiments.harness.runs import Load, Run, Sent
from scripts.experiments.harness.side import RunningChain
from scripts.experiments.harness.subprocesses import ChainError
from scripts.load.records import read_acked, read_received
from scripts.load.verify import visible_ids, visible_in
from scripts.local.addresses import HOST
from scripts.local.ports import free_base

LEAD_SECONDS = 3.0
QUIET_SECONDS = 30.0
"""After so long without any arrival, no more is expected."""

DRAIN_SECONDS = 180.0
_PAUSE_SECONDS = 0.1
_STOP_SECONDS = 10.0
_BLOCK = 1 << 20


DESTINATION_PORTS = (18_000, 20_000)


def destination_port() -> int:
    """A free port for a destination, outside the range that sides use."""
    return free_base(*DESTINATION_PORTS)


def destination_url(port: int) -> str:
    """URL of the destination on a port."""
    return f"http://{HOST}:{port}/bench"


class LineCounter:
    """Counts the lines of a growing file, reading each part once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._count = 0

    def count(self) -> int:
        """Number of lines so far."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            for block in iter(lambda: file.read(_BLOCK), b""):
                self._read += len(block)
                self._count += block.count(b"\n")
        return self._count

    def drain(self, count: int) -> None:
        """Wait for `count` lines, until no more arrive or the time is over.

        A chain that is behind needs time to catch up: late is not lost.
        """
        deadline = time.monotonic() + DRAIN_SECONDS
        known, changed = -1, time.monotonic()
        while (now := time.monotonic()) < deadline and now - changed < QUIET_SECONDS:
            found = self.count()
            if found >= count:
                return
            if found != known:
                known, changed = found, now
            time.sleep(_PAUSE_SECONDS)


class Bench:
    """Sends loads to one chain. Generator and destination are separate processes."""

    def __init__(self, chain: RunningChain, destination_port: int) -> None:
        self.chain = chain
        self._port = destination_port

    def run(self, load: Load, *, lead_seconds: float = LEAD_SECONDS) -> Run:
        """Send a load; the same rate is sent for `lead_seconds` before, which is not counted.

        Raises:
            ChainError: if a process of the chain, the generator or the destination ends.
        """
        with TemporaryDirectory(prefix="hifi-bench-") as name:
            acked, received = Path(name, "acked.tsv"), Path(name, "received.tsv")
            with destination(self._port, received) as receiver:
                arrivals = LineCounter(received)
                if lead_seconds:
                    lead = msgspec.structs.replace(load, seconds=lead_seconds)
                    sent = offer_load(self.chain.side, WRITE_KEY, lead, Path(name, "lead.tsv"))
                    arrivals.drain(sent.acked)
                cost, sent = self._counted(load, acked, arrivals, receiver)
            return self._settled(load, sent, cost, acked, received)

    def _counted(
        self, load: Load, acked: Path, arrivals: LineCounter, receiver: int
    ) -> tuple[cpu.Seconds, Sent]:
        before, load_before, earlier = self._used(receiver), cpu.of_ended_children(), arrivals.count()
        sent = offer_load(self.chain.side, WRITE_KEY, load, acked)
        spent_by_load = cpu.of_ended_children() - load_before  # no other child ends meanwhile
        arrivals.drain(earlier + sent.acked)
        return cpu.since(before, self._used(receiver)) | {"load": spent_by_load}, sent

    def _settled(self, load: Load, sent: Sent, cost: cpu.Seconds, acked: Path, received: Path) -> Run:
        self.chain.check()
        found = reconcile(
            read_acked(acked),
            read_received(received),
            lambda: visible_in(NAME, visible_ids(self.chain.side.bootstrap)),
        )
        return Run(
            load=load,
            sent=sent,
            lag=found.lag,
            delivered=found.delivered,
            waiting=found.waiting,
            lost=found.lost,
            duplicated=found.duplicated,
            cpu=cost,
        )

    def idle(self, seconds: float) -> cpu.Seconds:
        """Percent of one core by process while nothing is sent."""
        before = self._used()
        time.sleep(seconds)
        return cpu.cores(cpu.since(before, self._used()), seconds)

    def _used(self, *besides: int) -> cpu.Seconds:
        return cpu.used([*self.chain.roots, *besides])


@contextmanager
def destination(port: int, out: Path) -> Iterator[int]:
    """A destination process; yields its process id.

    Raises:
        ChainError: if it cannot listen.
    """
    command = [sys.executable, "-m", "scripts.experiments.harness.destination", str(port), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
        try:
            if process.stdout is None or process.stdout.readline() != "ready\n":
                raise ChainError(f"the destination cannot listen on port {port}")
            yield process.pid
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
