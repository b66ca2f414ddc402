"""Creates topics as declared in `shared.contracts.topics`, and queries brokers about them."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewPartitions, NewTopic

from shared.contracts.topics import REPLICAS, TopicSpec
from shared.runtime.errors import OperatorError
from shared.runtime.kafka_config import client_config

T = TypeVar("T")
_TRY_SECONDS = 5.0
_PAUSE_SECONDS = 0.2
_RETENTION = "retention.ms"


class AdminError(OperatorError):
    """The brokers cannot be reached or refuse a request; the text names them and the cause."""


def admin_client(bootstrap: str) -> AdminClient:
    """An admin client with a short timeout for dead brokers, which does not write to stderr."""
    return AdminClient(
        client_config(bootstrap)
        | {
            "socket.connection.setup.timeout.ms": 3_000,
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
        }
    )


def wait_for_brokers(bootstrap: str, brokers: int = REPLICAS, seconds: float = 180.0) -> None:
    """Wait until `brokers` brokers are registered and answer.

    Raises:
        AdminError: if they do not within `seconds`.
    """
    admin = admin_client(bootstrap)
    deadline = time.monotonic() + seconds
    seen, reason = 0, ""
    while time.monotonic() < deadline:
        try:
            seen = len(admin.list_topics(timeout=2.0).brokers)
            if seen >= brokers:
                return
        except KafkaException as error:
            reason = f" ({error.args[0].str()})"
        time.sleep(_PAUSE_SECONDS)
    raise AdminError(f"{seen} of {brokers} brokers answered within {seconds:.0f} s at {bootstrap}{reason}")


def ensure_topics(bootstrap: str, specs: Iterable[TopicSpec], seconds: float = 180.0) -> None:
    """Create missing topics and partitions, and lengthen retentions; idempotent.

    Returns when every partition has a leader and all its replicas are in sync. It never reduces partitions or
    retentions, and changes nothing else of existing topics.

    Raises:
        AdminError: if the brokers do not answer or refuse.
    """
    wanted = tuple(specs)
    wait_for_brokers(bootstrap, seconds=seconds)
    admin = admin_client(bootstrap)
    partitions = _answer(lambda: topic_partitions(admin), "topics not known", seconds)
    if new := [_new(spec) for spec in wanted if spec.name not in partitions]:
        _settle(admin.create_topics(new, request_timeout=seconds))
    if more := [_grown(spec) for spec in wanted if 0 < partitions.get(spec.name, 0) < spec.partitions]:
        _settle(admin.create_partitions(more, request_timeout=seconds))
    if old := [spec for spec in wanted if spec.name in partitions]:
        _lengthen(admin, old, seconds)
    _wait_for_partitions(admin, {str(s.name): s.partitions for s in wanted}, seconds)
    wait_in_sync(bootstrap, seconds)


def topic_partitions(admin: AdminClient) -> dict[str, int]:
    """The number of partitions of each topic."""
    topics = admin.list_topics(timeout=_TRY_SECONDS).topics
    return {name: len(topic.partitions) for name, topic in topics.items()}


def without_leader(admin: AdminClient, names: Iterable[str]) -> list[str]:
    """Topics of these names that do not exist, or have a partition without a leader.

    Raises:
        KafkaException: if no broker answers.
    """
    topics = admin.list_topics(timeout=_TRY_SECONDS).topics
    led = {
        name
        for name, topic in topics.items()
        if topic.partitions and all(each.leader >= 0 for each in topic.partitions.values())
    }
    return [name for name in names if str(name) not in led]


def out_of_sync(admin: AdminClient) -> list[str]:
    """Partitions (`topic/partition`) without a leader or with a replica out of sync.

    Raises:
        KafkaException: if no broker answers.
    """
    topics = admin.list_topics(timeout=_TRY_SECONDS).topics
    return [
        f"{name}/{number}"
        for name, topic in sorted(topics.items())
        for number, partition in sorted(topic.partitions.items())
        if partition.leader < 0 or len(partition.isrs) < len(partition.replicas)
    ]


def _new(spec: TopicSpec) -> NewTopic:
    return NewTopic(str(spec.name), spec.partitions, REPLICAS, config=spec.config())


def _grown(spec: TopicSpec) -> NewPartitions:
    return NewPartitions(str(spec.name), spec.partitions)


def _lengthen(admin: AdminClient, specs: Iterable[TopicSpec], seconds: float) -> None:
    """Keep the records of existing topics for as long as declared, if they are kept for less."""
    declared = {str(spec.name): spec.config()[_RETENTION] for spec in specs if spec.retention is not None}
    asked = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in declared]
    found = admin.describe_configs(asked, request_timeout=seconds) if asked else {}
    changes = [
        ConfigResource(
            ConfigResource.Type.TOPIC,
            each.name,
            incremental_configs=[
                ConfigEntry(_RETENTION, declared[each.name], incremental_operation=AlterConfigOpType.SET)
            ],
        )
        for each, answer in found.items()
        if 0 <= int(_result(each.name, answer)[_RETENTION].value) < int(declared[each.name])
    ]
    if changes:
        for each, done in admin.incremental_alter_configs(changes, request_timeout=seconds).items():
            _result(each.name, done)


def _result(name: str, future: "Future[T]") -> T:
    try:
        return future.result()
    except KafkaException as error:
        raise AdminError(f"topic {name}: {error.args[0].str()}") from error


def _settle(futures: Mapping[str, "Future[None]"]) -> None:
    """Wait for the results; a topic that exists already counts as created."""
    for name, future in futures.items():
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() not in (KafkaError.TOPIC_ALREADY_EXISTS, KafkaError.INVALID_PARTITIONS):
                raise AdminError(f"topic {name}: {error.args[0].str()}") from error


def _wait_for_partitions(admin: AdminClient, wanted: dict[str, int], seconds: float) -> None:
    def missing() -> list[str]:
        found = topic_partitions(admin)
        return [name for name, count in wanted.items() if found.get(name, 0) < count]

    _wait_until_none(missing, "topics missing", seconds)


def wait_in_sync(bootstrap: str, seconds: float = 180.0) -> None:
    """Wait until every partition has a leader and all its replicas are in sync.

    Raises:
        AdminError: if that takes longer than `seconds`.
    """
    admin = admin_client(bootstrap)
    _wait_until_none(lambda: out_of_sync(admin), "partitions not in sync", seconds)


def _answer(ask: Callable[[], T], what: str, seconds: float) -> T:
    """The brokers' answer to `ask`, which is called again while one of them stands still.

    Raises:
        AdminError: if they do not answer within `seconds`.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except KafkaException as error:
            if time.monotonic() >= deadline:
                raise AdminError(f"{what} within {seconds:.0f} s: {error.args[0].str()}") from error
        time.sleep(_PAUSE_SECONDS)


def _wait_until_none(waiting: Callable[[], list[str]], what: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    reason = "no broker answered"
    while time.monotonic() < deadline:
        try:
            names = waiting()
            if not names:
                return
            reason = ", ".join(names[:5])
        except KafkaException as error:
            reason = error.args[0].str()
        time.sleep(_PAUSE_SECONDS)
    raise AdminError(f"{what} within {seconds:.0f} s: {reason}")
