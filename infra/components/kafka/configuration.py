"""The brokers' server properties and the name of their MSK configuration."""

import re
from datetime import timedelta

from shared.contracts.limits import MAX_RECORD_BYTES
from shared.contracts.topics import COMMITS_KEPT, MIN_IN_SYNC_REPLICAS, REPLAYABLE, REPLICAS

# hifi creates its topics with settings of their own; these are the defaults behind them.
PROPERTIES: dict[str, str | int] = {
    "auto.create.topics.enable": "false",
    "unclean.leader.election.enable": "false",
    "default.replication.factor": REPLICAS,
    "min.insync.replicas": MIN_IN_SYNC_REPLICAS,
    "offsets.topic.replication.factor": REPLICAS,
    "transaction.state.log.replication.factor": REPLICAS,
    "transaction.state.log.min.isr": MIN_IN_SYNC_REPLICAS,
    # Consumers that name their zone (client.rack) read from a replica in it, without traffic between zones.
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "message.max.bytes": MAX_RECORD_BYTES,
    "replica.fetch.max.bytes": MAX_RECORD_BYTES,
    # The producers compress with lz4; compressing again in the broker would only cost CPU.
    "compression.type": "producer",
    # A topic without a retention of its own keeps three days, as the busy ones do, instead of Kafka's seven.
    "log.retention.hours": REPLAYABLE // timedelta(hours=1),
    # Committed offsets must outlast the records of a side that is parked.
    "offsets.retention.minutes": COMMITS_KEPT // timedelta(minutes=1),
}


def server_properties() -> str:
    """The properties in the text form that MSK expects."""
    return "".join(f"{name}={value}\n" for name, value in PROPERTIES.items())


def configuration_name(prefix: str, kafka_version: str) -> str:
    """Name of the MSK configuration.

    The name holds the version: a change of Kafka version replaces the configuration, the new one is created
    before the old one is destroyed, and two may not share a name. Changed properties become a new revision.

    Args:
        prefix: Start of the side's names.
        kafka_version: Version of the brokers, as MSK names it.
    """
    return f"{prefix}-{re.sub(r'[^0-9A-Za-z]+', '-', kafka_version)}"
