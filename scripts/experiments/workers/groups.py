"""A plain consumer group under a steady load, with members that are added, killed and stopped."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from scripts.experiments.harness.disturbance import BEFORE_SECONDS
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

    change: Change
    lateness: Lateness


class GroupRun(Struct, frozen=True, kw_only=True):
    """Figures of a group."""

    protocol: Protocol
    phases: list[GroupPhase]
    missing: int
    """Records that no member read."""

    doubled: int
    """Reads of a record that was read before."""


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
        """Apply a change to the last member."""
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
        """The records that all members have read, in the order of arrival."""
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


def run_group(bootstrap: str, protocol: Protocol, partitions: int, rate: int, seconds: float) -> GroupRun:
    """Change a group that begins with one member, under records at a rate, each for `seconds`,
    longer than BEFORE_SECONDS, after which it comes."""
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
            time.sleep(BEFORE_SECONDS)
            begun[change] = wall_clock()
            group.apply(change)
            time.sleep(seconds - BEFORE_SECONDS)
        ended = wall_clock()
        stopping.set()
        writer.join()
        time.sleep(_DRAIN_SECONDS)
        rows = group.received()
    distinct = len({row.event_id for row in rows})
    return GroupRun(
        protocol=protocol,
        phases=list(_phases(rows, begun, ended)),
        missing=written.count - distinct,
        doubled=len(rows) - distinct,
    )


def _phases(rows: Sequence[Received], begun: Mapping[Change, int], ended: int) -> Iterator[GroupPhase]:
    """Each change with the seconds until the next one began, or the records ended."""
    p95 = p95_by_second(rows)
    for change, begun_ms in begun.items():
        until = min((at for at in begun.values() if at > begun_ms), default=ended)
        these = {second: lag for second, lag in p95.items() if second < until // 1_000 - 1}
        yield GroupPhase(change=change, lateness=lateness(these, begun_ms))


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
