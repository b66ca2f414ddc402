"""A plain consumer group under a steady load, whose members are added, killed and stopped."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from scripts.experiments.harness.lateness import Lateness, lateness, p95_by_second
from scripts.experiments.workers.protocol import OF_GROUPS, Change, Protocol
from scripts.load.records import Received, read_received
from shared.contracts.topics import TopicSpec
from shared.kafka.admin import ensure_topics
from shared.kafka.producer import logging_client, producer_config
from shared.runtime.clock import wall_clock

_SETTLE_SECONDS: Final = 10.0
_DRAIN_SECONDS: Final = 5.0
_TICK_SECONDS: Final = 0.01
_STOP_SECONDS: Final = 20.0
_VALUE_BYTES: Final = 500


class GroupPhase(Struct, frozen=True, kw_only=True):
    """Figures of a group around a change of its members."""

    protocol: Protocol
    change: Change
    lateness: Lateness
    missing: int
    """Records that no member read."""


class _Group:
    """The members of a group, as processes."""

    def __init__(self, bootstrap: str, topic: str, protocol: Protocol, folder: Path) -> None:
        self._arguments = (bootstrap, topic, protocol)
        self._folder = folder
        self._members: list[subprocess.Popen[bytes]] = []
        self._started = 0

    def add(self) -> None:
        """Start one more."""
        self._started += 1
        out = self._folder / f"{self._started}.tsv"
        command = [sys.executable, "-m", "scripts.experiments.workers.member", *self._arguments, str(out)]
        self._members.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))

    def apply(self, change: Change) -> None:
        """Do to the last member what the change says."""
        if change is Change.ADD:
            self.add()
            return
        last = self._members.pop()
        if change is Change.KILL:
            last.kill()
            last.wait()
            self.add()
        else:
            _stop(last)

    def received(self) -> list[Received]:
        """What all have read, in the order of arrival."""
        found = (row for file in self._folder.glob("*.tsv") for row in read_received(file))
        return sorted(found, key=lambda row: row.received_ms)

    def end(self) -> None:
        """Stop all."""
        while self._members:
            _stop(self._members.pop())


def _stop(member: "subprocess.Popen[bytes]") -> None:
    member.terminate()
    try:
        member.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        member.kill()
        member.wait()


def group_phases(
    bootstrap: str, protocol: Protocol, partitions: int, rate: int, seconds: float
) -> Iterator[GroupPhase]:
    """Each change of a group that begins with one member, under records at a rate, `seconds` apart."""
    topic = f"group-{protocol}-{wall_clock()}"
    ensure_topics(bootstrap, [TopicSpec(name=topic, partitions=partitions, retention=timedelta(hours=1))])
    with TemporaryDirectory(prefix="hifi-over-") as name, ExitStack() as stack:
        group = _Group(bootstrap, topic, protocol, Path(name))
        stack.callback(group.end)
        group.add()
        time.sleep(_SETTLE_SECONDS)
        stopping, written = threading.Event(), _Writer(bootstrap, topic)
        writer = threading.Thread(target=written.run, args=(rate, stopping))
        writer.start()
        stack.callback(writer.join)
        stack.callback(stopping.set)
        begun: dict[Change, int] = {}
        for change in OF_GROUPS:
            time.sleep(seconds / 2)
            begun[change] = wall_clock()
            group.apply(change)
            time.sleep(seconds / 2)
        ended = wall_clock()
        stopping.set()
        writer.join()
        time.sleep(_DRAIN_SECONDS)
        rows = group.received()
    missing = written.count - len({row.event_id for row in rows})
    p95 = p95_by_second(rows)
    for change in OF_GROUPS:
        until = min((at for at in begun.values() if at > begun[change]), default=ended)
        these = {second: lag for second, lag in p95.items() if second < until // 1_000 - 1}
        yield GroupPhase(
            protocol=protocol, change=change, lateness=lateness(these, begun[change]), missing=missing
        )


class _Writer:
    """Writes numbered records at a rate."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = logging_client(producer_config(bootstrap, topic))
        self._topic = topic
        self.count = 0

    def run(self, rate: int, stopping: threading.Event) -> None:
        """Write until stopping, then wait for the acknowledgements."""
        began = time.monotonic()
        while not stopping.wait(_TICK_SECONDS):
            for _ in range(int((time.monotonic() - began) * rate) - self.count):
                value = str(self.count).encode().rjust(_VALUE_BYTES)
                self._producer.produce(self._topic, value)
                self.count += 1
            self._producer.poll(0)
        self._producer.flush(_STOP_SECONDS)
