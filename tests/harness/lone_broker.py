"""One broker by itself, with one copy of each topic: for tests that a shared cluster cannot serve."""

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.cimpl import NewTopic

from scripts.local.addresses import HOST
from scripts.local.jars import ensure_jars
from scripts.local.kafka import brokers
from scripts.local.ports import free_base
from scripts.local.process_marks import OF_SIDE
from scripts.local.side import Side
from shared.contracts.topics import TopicSpec
from shared.kafka.admin import admin_client, wait_for_brokers

QUICK_TO_COMPILE = "-XX:TieredStopAtLevel=1"
"""JVM flag for short-lived, mostly idle brokers: three of them start, and idle, on half of the CPU."""


@contextmanager
def lone_broker(folder: Path) -> Iterator[str]:
    """Run a broker without topics until the block ends; yields its address."""
    jars = ensure_jars(print).broker
    side = Side(root=folder / "broker", port=free_base(), partitions=1)
    side.create()
    brokers.prepare(side, jars, (1,), brokers.single_copies(side))
    with (side.logs / "broker-1.log").open("wb") as output:
        process = subprocess.Popen(
            brokers.command(side, 1, jars, (QUICK_TO_COMPILE,)),
            env={**os.environ, OF_SIDE: str(side.root)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    address = f"{HOST}:{side.broker_port(1)}"
    try:
        wait_for_brokers(address, 1)
        yield address
    finally:
        process.kill()  # nothing of it is needed any more
        process.wait()


def create_topics(address: str, specs: Iterable[TopicSpec]) -> None:
    """Create topics with one copy; returns when the broker has done so."""
    admin = admin_client(address)
    new = [NewTopic(str(spec.name), spec.partitions, 1, config=spec.config()) for spec in specs]
    for future in admin.create_topics(new, request_timeout=60).values():
        future.result()
