"""The two chains that are measured, started from nothing and ended: hifi's side, and the yardstick."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from msgspec import Struct

from scripts.bench import documents
from scripts.bench.yardstick.__main__ import HOPS
from scripts.local.cluster import Cluster
from scripts.local.jars import Jars
from scripts.local.side import Side
from scripts.local.supervisor import end_leftovers
from shared.contracts.topics import topic_specs
from shared.kafka.admin import admin_client, ensure_topics

START_SECONDS = 300.0
STOP_SECONDS = 150.0
_PAUSE_SECONDS = 0.2
_UP = "up"
_READY = "\nready "


class ChainError(Exception):
    """A chain that did not start, or ended by itself; the text says where to look."""


class Chain(Struct, frozen=True, kw_only=True):
    """A running chain."""

    name: str
    side: Side
    roots: list[int]
    """Process ids whose trees are the chain."""

    ready_seconds: float
    """From its start until it said ready."""

    alive: Callable[[], bool]
    """Whether all its processes still run."""


@contextmanager
def hifi(side: Side, destination: str) -> Iterator[Chain]:
    """hifi's whole side, as `hifi up` runs it.

    Raises:
        ChainError: if it is not ready in time.
    """
    began = time.monotonic()
    command = [sys.executable, "-m", "scripts.cli", "up", "--data", str(side.root), "--port", str(side.port)]
    with ExitStack() as stack:
        stack.callback(end_leftovers, side.root)  # finds nothing unless `up` itself had to be killed
        up = stack.enter_context(_child(command, side, _UP, {}))
        admin = admin_client(side.bootstrap)
        _until(lambda: documents.publishable(admin), [up], side)
        documents.publish(side.bootstrap, destination)  # before ready: the first minute counts
        _until(lambda: _said_ready(side), [up], side)
        ready = time.monotonic() - began
        yield Chain(
            name="hifi", side=side, roots=[up.pid], ready_seconds=ready, alive=lambda: up.poll() is None
        )


@contextmanager
def yardstick(side: Side, destination: str, jars: Jars) -> Iterator[Chain]:
    """The same brokers and collect, and the yardstick's hops.

    Raises:
        ChainError: if it is not ready in time.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(side, jars.broker))
        ensure_topics(cluster.bootstrap, topic_specs(side.partitions))
        documents.publish(cluster.bootstrap, destination)
        environment = side.environment() | {"HIFI_PORT": str(side.collect_port)}
        modules = [["pipelines.data.collect"], *(["scripts.bench.yardstick", hop] for hop in HOPS)]
        commands = [[sys.executable, "-m", *module] for module in modules]
        children = [
            stack.enter_context(_child(command, side, command[-1], environment)) for command in commands
        ]
        admin = admin_client(cluster.bootstrap)
        _until(lambda: _answers(side) and _assigned(admin), children, side)
        brokers = [cluster.pid(broker) for broker in (1, 2, 3)]
        yield Chain(
            name="yardstick",
            side=side,
            roots=[*brokers, *(child.pid for child in children)],
            ready_seconds=time.monotonic() - began,
            alive=lambda: all(child.poll() is None for child in children),
        )


@contextmanager
def _child(
    command: Sequence[str], side: Side, name: str, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the chain, ended by SIGTERM, or by SIGKILL where that takes too long."""
    side.create()
    with (side.logs / f"bench-{name}.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until(ready: Callable[[], bool], children: Sequence[subprocess.Popen[bytes]], side: Side) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        if any(child.poll() is not None for child in children):
            raise ChainError(f"a process of the chain ended by itself: see {side.logs}")
        if time.monotonic() > deadline:
            raise ChainError(f"not ready within {START_SECONDS:.0f} s: see {side.logs}")
        time.sleep(_PAUSE_SECONDS)


def _said_ready(side: Side) -> bool:
    """Whether `hifi up` has printed that the side is ready."""
    return _READY in (side.logs / f"bench-{_UP}.log").read_text()


def _answers(side: Side) -> bool:
    try:
        with urllib.request.urlopen(f"{side.collect_url}/readyz", timeout=2) as answer:  # noqa: S310 - our own
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _assigned(admin: AdminClient) -> bool:
    """Whether every hop's consumer group has its partitions."""
    groups = admin.describe_consumer_groups([f"yardstick-{hop}" for hop in HOPS], request_timeout=5)
    try:
        described = [future.result(timeout=10) for future in groups.values()]
    except (KafkaException, TimeoutError):
        return False  # the groups' coordinator is still loading
    return all(any(m.assignment.topic_partitions for m in group.members) for group in described)
