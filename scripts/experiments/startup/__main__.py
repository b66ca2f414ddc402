"""`python -m scripts.experiments.startup`: from `hifi up` to a customer's first event, and to ready.

In each round a new folder is started, and then started again as it is after everything was killed under load,
while a customer's events are offered. Then the first minute's load follows. A line of JSON a start.
"""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, NamedTuple

import msgspec
import typer
from msgspec import Struct

from scripts.experiments.harness import cpu
from scripts.experiments.harness.documents import WRITE_KEY
from scripts.experiments.harness.measure import Bench, destination, destination_port, destination_url
from scripts.experiments.harness.output import say
from scripts.experiments.harness.runs import Load
from scripts.experiments.harness.side import RunningChain, hifi
from scripts.load.records import read_received
from scripts.local.addresses import HOST
from scripts.local.ports import free_base
from scripts.local.process_marks import kill, side_processes
from scripts.local.side import Side
from scripts.terminal import out, run_command

_OFFERED_BATCH: Final = 10
_SECONDS: Final = 60.0
_MOST_SECONDS: Final = 300.0
_BATCH: Final = 100
_WRITTEN_SECONDS: Final = 1.0
"""The destination writes its file twice a second."""

APP = typer.Typer(add_completion=False)


class Start(Struct, frozen=True, kw_only=True):
    """Figures of one start; seconds from `hifi up` on."""

    folder: str
    first_event_seconds: float | None
    """Until an event of a customer's was delivered; None if none was before all were awaited."""

    ready_seconds: float
    delivered_seconds: float | None
    """Until the last event that was acknowledged before ready was delivered; None if one is missing."""

    offered: int
    """Events acknowledged before ready."""

    cpu_seconds: dict[str, float]
    """CPU seconds until ready, by process."""

    minute_p95_ms: float | None
    """p95 of the load right after that; None if none was sent."""


class _Wanted(NamedTuple):
    folder: str
    offered: int
    load: Load | None


@APP.command()
def main(
    rounds: Annotated[int, typer.Option(min=1, help="A new folder and a second start of it, each.")] = 3,
    rate: Annotated[int, typer.Option(min=0, help="Events per second in the minute after ready.")] = 5_000,
    offered: Annotated[int, typer.Option(min=4, help="A customer's events per second before it.")] = 400,
) -> None:
    """Measure."""
    load = Load(rate=rate, batch=_BATCH, seconds=_SECONDS) if rate else None
    for turn in range(rounds):
        say(f"round {turn + 1} of {rounds}")
        with TemporaryDirectory(prefix="hifi-startup-") as folder:
            side = Side(root=Path(folder, "side").resolve(), port=free_base())
            port, owed = destination_port(), set[str]()
            for name, after in (("new", None), ("killed", load)):
                start, owed = _start(side, port, _Wanted(name, offered, after), owed)
                out().print(json.dumps(msgspec.to_builtins(start)), markup=False, soft_wrap=True)


def _start(side: Side, port: int, wanted: _Wanted, owed: set[str]) -> tuple[Start, set[str]]:
    """Start and kill a side; the set has ids of events that were acknowledged and not delivered yet."""
    name, load = wanted.folder, wanted.load
    arrivals = Path(f"{side.root}.{name}.tsv")
    began = time.time()
    with ExitStack() as before_ready:
        before_ready.enter_context(destination(port, arrivals))
        customer = before_ready.enter_context(_offering(side, name, wanted.offered))
        with hifi(side, destination_url(port)) as chain:
            used = cpu.used(chain.roots)
            if load is not None:
                customer.stop()
            acked = owed | set(customer.acked)
            arrived = _awaited(acked, arrivals)
            if load is not None:
                before_ready.close()
            p95 = _p95(chain, port, load)
            kill(
                [
                    *(each for root in chain.roots for each in cpu.process_trees([root])),
                    *side_processes(side.root),
                ]
            )
    late = set(customer.acked) - {row.event_id for row in read_received(arrivals)}
    start = Start(
        folder=name,
        first_event_seconds=min(arrived.values()) / 1000 - began if arrived else None,
        ready_seconds=chain.ready_seconds,
        delivered_seconds=max(arrived.values()) / 1000 - began if acked <= arrived.keys() else None,
        offered=len(acked),
        cpu_seconds=used,
        minute_p95_ms=p95,
    )
    return start, late


def _awaited(wanted: set[str], arrivals: Path) -> dict[str, int]:
    """When each of the wanted events first arrived, by the receiver's clock; ms."""
    deadline = time.monotonic() + _MOST_SECONDS
    while True:
        arrived: dict[str, int] = {}
        for row in read_received(arrivals):
            if row.event_id in wanted:
                arrived.setdefault(row.event_id, row.received_ms)
        if wanted <= arrived.keys() or time.monotonic() > deadline:
            return arrived
        time.sleep(_WRITTEN_SECONDS)


def _p95(chain: RunningChain, port: int, load: Load | None) -> float | None:
    if load is None:
        return None
    lag = Bench(chain, port).run(load, lead_seconds=0).lag
    return lag.p95 if lag else None


class _Customer:
    """Sends events at a steady rate to a collect that may not be there, and notes which it took."""

    def __init__(self, side: Side, name: str, rate: int) -> None:
        self.acked: list[str] = []
        self._side, self._name, self._pause = side, name, _OFFERED_BATCH / rate
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self) -> None:
        """End after the request that is open."""
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        began, number = time.monotonic(), 0
        while not self._ending.wait(max(0.0, began + number * self._pause - time.monotonic())):
            number += 1
            ids = [f"{self._name}-{number}-{each}" for each in range(_OFFERED_BATCH)]
            with suppress(OSError, http.client.HTTPException):
                if self._post(ids) == http.client.ACCEPTED:
                    self.acked += ids

    def _post(self, ids: list[str]) -> int:
        connection = http.client.HTTPConnection(HOST, self._side.collect_port, timeout=10)
        shared = {"specversion": "1.0", "source": "/startup", "type": "video.started", "data": {}}
        headers = {
            "Authorization": f"Bearer {WRITE_KEY}",
            "Content-Type": "application/cloudevents-batch+json",
        }
        try:
            connection.request(
                "POST", "/v1/events", json.dumps([shared | {"id": each} for each in ids]), headers
            )
            return connection.getresponse().status
        finally:
            connection.close()


@contextmanager
def _offering(side: Side, name: str, rate: int) -> Iterator[_Customer]:
    customer = _Customer(side, name, rate)
    customer.start()
    try:
        yield customer
    finally:
        customer.stop()


if __name__ == "__main__":
    run_command(APP)
