"""Configuration, command lines and folders of three Kafka brokers on the loopback address."""

import base64
import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from scripts.local.addresses import BROKER_IDS, HOST
from scripts.local.class_archives import broker_archive
from scripts.local.kafka.properties_file import properties_text
from scripts.local.process_marks import OF_SIDE
from scripts.local.side import Side
from scripts.local.whole_file import write_whole
from shared.contracts.limits import MAX_RECORD_BYTES
from shared.contracts.topics import COMMITS_KEPT, MIN_IN_SYNC_REPLICAS, REPLICAS
from shared.runtime.errors import OperatorError
from shared.runtime.jvm import java, mapping, release
from shared.runtime.program_output import last_line

_LOGGING: Final = Path(__file__).with_name("broker-log4j2.properties")
_FORMAT_SECONDS: Final = 120
_FORMATTED: Final = "formatted"

_JVM_FLAGS: Final = (
    "-Xms384m",
    "-Xmx384m",
    # Small heap, two cores for everything: one collector thread beats G1's many.
    "-XX:+UseSerialGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
)

_TUNING: Final = {
    # Few threads: three brokers share two cores with all other processes.
    "num.network.threads": 2,
    "num.io.threads": 4,
    "num.replica.fetchers": 1,
    "background.threads": 2,
    "num.recovery.threads.per.data.dir": 1,
    "group.coordinator.threads": 1,
    "share.coordinator.threads": 1,
    # A killed broker is noticed in five seconds instead of nine.
    "broker.heartbeat.interval.ms": 1_000,
    "broker.session.timeout.ms": 5_000,
    # Wake-ups of an idle broker. None of these delays a record: a fetch returns when one arrives.
    "metadata.max.idle.interval.ms": 5_000,
    "replica.fetch.wait.max.ms": 2_000,
    "log.cleaner.backoff.ms": 60_000,
    # After SIGKILL a broker re-reads its active segments: keep them short.
    "log.segment.bytes": 256 * 1024 * 1024,
    "group.initial.rebalance.delay.ms": 0,
}


_COPIES: Final = ("replication.factor", "min.isr", "min.insync.replicas")
"""Endings of the properties that say how many copies there are."""


class BrokerError(OperatorError):
    """The brokers cannot be prepared; the text says why and what to do."""


def properties(side: Side, broker: int) -> dict[str, str]:
    """The `server.properties` of one combined broker and controller."""
    voters = ",".join(f"{n}@{HOST}:{side.controller_port(n)}" for n in BROKER_IDS)
    broker_listener = f"PLAINTEXT://{HOST}:{side.broker_port(broker)}"
    controller_listener = f"CONTROLLER://{HOST}:{side.controller_port(broker)}"
    found = {
        "process.roles": "broker,controller",
        "node.id": broker,
        "broker.rack": f"zone-{'abc'[broker - 1]}",
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{broker_listener},{controller_listener}",
        "advertised.listeners": broker_listener,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(side.broker_folder(broker) / "log"),
        "auto.create.topics.enable": "false",
        "unclean.leader.election.enable": "false",
        # As on the twins: a consumer that names its zone reads from the replica in it.
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "default.replication.factor": REPLICAS,
        "min.insync.replicas": MIN_IN_SYNC_REPLICAS,
        "message.max.bytes": MAX_RECORD_BYTES,
        "replica.fetch.max.bytes": MAX_RECORD_BYTES,
        **_internal_topics(),
        **_TUNING,
    }
    return {name: str(value) for name, value in found.items()}


def single_copies(side: Side) -> dict[str, str]:
    """Properties of a broker that is its cluster's only one, to be added to those of `prepare`."""
    copies = [name for name in properties(side, 1) if name.endswith(_COPIES)]
    return {"controller.quorum.voters": f"1@{HOST}:{side.controller_port(1)}", **dict.fromkeys(copies, "1")}


def _internal_topics() -> dict[str, object]:
    """Kafka's internal topics: replicated as hifi's are, with few partitions each."""
    return {
        "offsets.topic.num.partitions": 3,
        "offsets.topic.replication.factor": REPLICAS,
        "offsets.retention.minutes": COMMITS_KEPT // timedelta(minutes=1),
        "transaction.state.log.num.partitions": 3,
        "transaction.state.log.replication.factor": REPLICAS,
        "transaction.state.log.min.isr": MIN_IN_SYNC_REPLICAS,
        "share.coordinator.state.topic.num.partitions": 1,
        "share.coordinator.state.topic.replication.factor": REPLICAS,
        "share.coordinator.state.topic.min.isr": MIN_IN_SYNC_REPLICAS,
    }


def command(side: Side, broker: int, jars: Path, flags: Sequence[str] = ()) -> list[str]:
    """The command line of one broker; `flags` of its JVM are added to hifi's."""
    temporary = f"-Djava.io.tmpdir={side.temporary}"
    return [*_jvm(jars, *_JVM_FLAGS, *flags, temporary), "kafka.Kafka", str(_config_file(side, broker))]


def _jvm(jars: Path, *flags: str) -> list[str]:
    return [
        java(),
        *mapping(broker_archive(jars).file, release(java())),
        *flags,
        f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "-cp",
        f"{jars}/*",
    ]


def _config_file(side: Side, broker: int) -> Path:
    return side.broker_folder(broker) / "server.properties"


def prepare(
    side: Side, jars: Path, nodes: Sequence[int] = BROKER_IDS, extra: Mapping[str, str] | None = None
) -> None:
    """Write the brokers' configuration and format new folders; idempotent.

    Args:
        side: its folder has the brokers' folders.
        jars: folder of the class path.
        nodes: numbers of the brokers to prepare.
        extra: properties that override hifi's.

    Raises:
        BrokerError: if a folder cannot be formatted.
    """
    for broker in nodes:
        side.broker_folder(broker).mkdir(parents=True, exist_ok=True)
        found = properties(side, broker) | dict(extra or {})
        _config_file(side, broker).write_text(properties_text(found), encoding="ascii")
    raw = [broker for broker in nodes if not _mark(side, broker).exists()]
    if raw:
        _format(side, raw, jars)


def formatted(side: Side) -> bool:
    """Whether the side's brokers were formatted."""
    return _cluster_file(side).exists()


def _cluster_file(side: Side) -> Path:
    return side.root / "brokers" / "cluster.id"


def _mark(side: Side, broker: int) -> Path:
    """File that exists once formatting has finished; an interrupted format is repeated."""
    return side.broker_folder(broker) / _FORMATTED


def _format(side: Side, brokers: Sequence[int], jars: Path) -> None:
    cluster = cluster_id(side)
    running = {
        broker: subprocess.Popen(
            [
                *_jvm(jars, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"),
                "kafka.tools.StorageTool",
                "format",
                "--ignore-formatted",
                *(f"--cluster-id={cluster}", "--config", str(_config_file(side, broker))),
            ],
            env={**os.environ, OF_SIDE: str(side.root)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for broker in brokers
    }
    for broker, process in running.items():
        output, _ = process.communicate(timeout=_FORMAT_SECONDS)
        if process.returncode:
            raise BrokerError(
                f"{side.broker_folder(broker)} cannot be formatted: {last_line(output)}\n"
                f"It may belong to another cluster: remove {side.root}, with its events, to start anew."
            )
        _mark(side, broker).write_text(cluster + "\n")


def cluster_id(side: Side) -> str:
    """The cluster's id: 22 characters of URL-safe base64, chosen once."""
    path = _cluster_file(side)
    if not path.exists():
        write_whole(path, base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"="))
    return path.read_text().strip()
