"""The baseline chain that hifi is compared with, freshly started and stopped."""

import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from scripts.experiments.baseline.__main__ import HOPS
from scripts.experiments.harness.documents import documents
from scripts.experiments.harness.side import RunningChain
from scripts.experiments.harness.subprocesses import check_all, child_process, wait_until
from scripts.local.jars import Jars
from scripts.local.kafka.cluster import Cluster
from scripts.local.side import Side
from shared.contracts.publish_plan import COMPLETE, records_of
from shared.contracts.topics import topic_specs
from shared.kafka.admin import admin_client, ensure_topics
from shared.kafka.config_topic import publish

_PUBLISH_SECONDS = 65.0


@contextmanager
def baseline(side: Side, destination: str, jars: Jars) -> Iterator[RunningChain]:
    """The same brokers and collect, and the baseline's hops.

    Raises:
        ChainError: if it is not ready in time.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(side, jars.broker))
        ensure_topics(cluster.bootstrap, topic_specs(side.partitions))
        # Plain Kafka loops have no provisioner: nothing but this writes to their topic.
        records = {**records_of(documents(destination)), **COMPLETE}
        publish(cluster.bootstrap, "bench", records, _PUBLISH_SECONDS)
        environment = side.environment() | {"HIFI_PORT": str(side.collect_port)}
        modules = [["pipelines.data.collect"], *(["scripts.experiments.baseline", hop] for hop in HOPS)]
        commands = [[sys.executable, "-m", *module] for module in modules]
        children = [
            stack.enter_context(child_process(command[-1], command, side.logs, environment))
            for command in commands
        ]
        admin = admin_client(cluster.bootstrap)
        wait_until(lambda: _answers(side) and _assigned(admin), children)
        brokers = [cluster.pid(broker) for broker in (1, 2, 3)]
        yield RunningChain(
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
