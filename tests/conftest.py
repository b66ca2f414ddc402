"""Kinds and tiers of tests, and fixtures for all kinds, which end every process that they start.

The kind of a test is its folder. Its tier is `proof` if it has that mark, for tests that take minutes or
prove at full size what another proves at a small one; otherwise `test`.
"""

import gc
import os
import signal
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
from botocore.loaders import JSONFileLoader
from confluent_kafka import OFFSET_END, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from hypothesis import HealthCheck, settings

from scripts.local.jars import ensure_jars
from scripts.local.kafka.cluster import Cluster
from scripts.local.ports import free_base
from scripts.local.pyspark_package import with_own_spark
from scripts.local.side import Side
from shared.contracts.publish_plan import COMPLETE
from shared.contracts.topics import Topic, topic_specs
from shared.kafka.admin import admin_client, ensure_topics
from shared.kafka.config_topic import publish
from tests.harness.broker_faults import kill_all
from tests.harness.lone_broker import QUICK_TO_COMPILE

# No deadline for an example, nor for making it: a busy machine is slow, not wrong.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("test", _PATIENT, max_examples=30)
settings.register_profile("proof", _PATIENT, max_examples=200)
TIERS = ("test", "proof", "all")
SIDE_TIMEOUT_SECONDS = 1_800
QUICK_TO_EMPTY = {"replica.fetch.wait.max.ms": "200"}
"""Records are deleted once each follower has said so, in its next request: after two seconds on a side."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--tier`, by default all tests named on the command line, and `--load-percent`."""
    parser.addoption("--tier", choices=TIERS, default="all", help="which tier to run (default: all)")
    parser.addoption(
        "--load-percent",
        type=int,
        default=100,
        metavar="N",
        help="load of tests of two sides in percent of their usual one, for a slow machine (default: 100)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Check properties on more examples in the proof tier."""
    # Asked to end, a run ends its brokers and sides, as at Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    settings.load_profile("test" if config.getoption("--tier") == "test" else "proof")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test by its folder, and deselect the other tier.

    The first test that needs the side pays for its start.
    """
    tier = config.getoption("--tier")
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        kind = item.path.relative_to(Path(__file__).parent).parts[0]
        item.add_marker(kind)
        if kind == "integration" and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SIDE_TIMEOUT_SECONDS))
        proof = item.get_closest_marker("proof") is not None
        (kept if tier in ("all", "proof" if proof else "test") else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_collection_finish() -> None:
    """Leave what was imported to no later collection of garbage: each would look at a million objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_spark() -> Iterator[None]:
    """The Spark that is tested is the one that hifi installs, whatever the shell's variables say."""
    with patch.dict(os.environ, with_own_spark(os.environ), clear=True):
        yield


@pytest.fixture(scope="session", autouse=True)
def read_descriptions_once() -> Iterator[None]:
    """Of AWS's services, which botocore reads again for each session: a second for EC2, Route 53 and MSK.

    That of S3 is changed by its clients.
    """
    read = JSONFileLoader().load_file
    read_once = cache(read)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            JSONFileLoader, "load_file", lambda _, path: read(path) if "/s3/" in path else read_once(path)
        )
        yield


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """Three real brokers on free ports, without topics: `bootstrap`, `kill(n)`, `start(n)`.

    A test that kills one starts it again and waits until the cluster is healthy.
    """
    side = Side(root=tmp_path_factory.mktemp("brokers"), port=free_base(), partitions=2)
    flags = (QUICK_TO_COMPILE,) if pytestconfig.getoption("--tier") == "test" else ()
    with Cluster(side, ensure_jars(print).broker, flags, QUICK_TO_EMPTY) as cluster:
        yield cluster
        kill_all(cluster)


@pytest.fixture(scope="session")
def configured(brokers: Cluster) -> str:
    """All of hifi's topics, `config` complete as a provisioner leaves it; returns the bootstrap servers."""
    ensure_topics(brokers.bootstrap, topic_specs(brokers.side.partitions))
    publish(brokers.bootstrap, "test", COMPLETE, seconds=120)
    return brokers.bootstrap


@pytest.fixture
def topics(brokers: Cluster, configured: str) -> str:
    """Empty all of hifi's topics but `config`; returns the bootstrap servers."""
    if not set(Topic) <= admin_client(configured).list_topics(timeout=60).topics.keys():
        ensure_topics(configured, topic_specs(brokers.side.partitions))
    delete_records(configured)
    return configured


def delete_records(bootstrap: str, seconds: float = 120.0) -> None:
    """Empty every topic but `config`: Kafka does not truncate compacted topics."""
    admin = admin_client(bootstrap)
    deadline = time.monotonic() + seconds
    while not set(Topic) <= (found := admin.list_topics(timeout=60).topics).keys():
        assert time.monotonic() < deadline, "a broker does not know all topics"  # just created
        time.sleep(0.2)
    delete_up_to(
        bootstrap,
        [TopicPartition(t, p, OFFSET_END) for t in Topic if t != Topic.CONFIG for p in found[t].partitions],
        seconds,
    )


def delete_up_to(bootstrap: str, places: list[TopicPartition], seconds: float = 120.0) -> None:
    """Delete what stands before these offsets, whatever leaders move meanwhile."""
    deadline = time.monotonic() + seconds
    while not _deleted(admin_client(bootstrap), places):  # a client keeps using its first answer for leaders
        assert time.monotonic() < deadline, "topics cannot be emptied"
        time.sleep(0.2)


def _deleted(admin: AdminClient, upto: list[TopicPartition]) -> bool:
    """False if leaders move: a broker does not know yet that it leads a partition, or leads it no more.

    A request that waits for replicas when its leader moves, as brokers do five minutes after one of them came
    back, is not answered.
    """
    passing = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError._TIMED_OUT)  # the client's name
    try:
        for future in admin.delete_records(upto, request_timeout=10).values():
            future.result()
    except KafkaException as error:
        if error.args[0].retriable() or error.args[0].code() in passing:
            return False
        raise
    return True
