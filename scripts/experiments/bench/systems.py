"""The two chains that are measured, started from nothing and ended: hifi's side, and the yardstick."""

import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from msgspec import Struct

from scripts.experiments.baseline.__main__ import HOPS
from scripts.experiments.bench import documents
from scripts.experiments.bench.subprocesses import check_all, child, wait_until
from scripts.local.jars import Jars
from scripts.local.kafka.cluster import Cluster
from scripts.local.processes.profile import Parts
from scripts.local.processes.supervisor import end_leftovers
from scripts.local.side import Side
from shared.contracts.topics import topic_specs
from shared.kafka.admin import admin_client, ensure_topics

_UP = "up"
_READY = "\nready "
"""What `hifi up` prints when the side is ready."""


class Chain(Struct, frozen=True, kw_only=True):
    """A running chain."""

    name: str
    side: Side
    roots: list[int]
    """Process ids whose trees are the chain."""

    ready_seconds: float
    """From its start until it said ready."""

    check: Callable[[], None]
    """Raises ChainError if one of its processes has ended."""


@contextmanager
def hifi(side: Side, destination: str, parts: Parts = Parts.ALL) -> Iterator[Chain]:
    """hifi's side, as `hifi up` runs it, or those of its parts.

    Raises:
        ChainError: if it is not ready in time.
    """
    began = time.monotonic()
    where = ("--data", str(side.root), "--port", str(side.port))
    command = [sys.executable, "-m", "scripts.cli", "up", *where, "--parts", parts]
    with ExitStack() as stack:
        stack.callback(end_leftovers, side.root)  # finds nothing unless `up` itself had to be killed
        up = stack.enter_context(child(_UP, command, side.logs, {}))
        admin = admin_client(side.bootstrap)
        wait_until(lambda: documents.publishable(admin), [up])
        documents.publish(side.bootstrap, destination)  # before ready: the first minute counts
        wait_until(lambda: _READY in up.text(), [up])
        ready = time.monotonic() - began
        yield Chain(name="hifi", side=side, roots=[up.pid], ready_seconds=ready, check=up.check)


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
        modules = [["pipelines.data.collect"], *(["scripts.experiments.baseline", hop] for hop in HOPS)]
        commands = [[sys.executable, "-m", *module] for module in modules]
        children = [
            stack.enter_context(child(command[-1], command, side.logs, environment)) for command in commands
        ]
        admin = admin_client(cluster.bootstrap)
        wait_until(lambda: _answers(side) and _assigned(admin), children)
        brokers = [cluster.pid(broker) for broker in (1, 2, 3)]
        yield Chain(
            name="yardstick",
            side=side,
            roots=[*brokers, *(one.pid for one in children)],
            ready_seconds=time.monotonic() - began,
            check=lambda: check_all(children),
        )


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
