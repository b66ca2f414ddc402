"""What the brokers are told, and the name under which MSK keeps it. Pure."""

import re

from shared.contracts.limits import MAX_RECORD_BYTES
from shared.contracts.topics import MIN_IN_SYNC_REPLICAS, REPLICAS

# The topics themselves are made by hifi with their own retention; these stand behind them.
PROPERTIES: dict[str, str | int] = {
    "auto.create.topics.enable": "false",
    "unclean.leader.election.enable": "false",
    "default.replication.factor": REPLICAS,
    "min.insync.replicas": MIN_IN_SYNC_REPLICAS,
    "offsets.topic.replication.factor": REPLICAS,
    "transaction.state.log.replication.factor": REPLICAS,
    "transaction.state.log.min.isr": MIN_IN_SYNC_REPLICAS,
    "message.max.bytes": MAX_RECORD_BYTES,
    "replica.fetch.max.bytes": MAX_RECORD_BYTES,
    # The producers compress with lz4, and a broker that did it again would only burn its CPU.
    "compression.type": "producer",
    # A topic nobody gave a retention keeps three days, as the busy ones do, rather than Kafka's seven.
    "log.retention.hours": 72,
    # Committed offsets outlive a side that was dark for a long weekend.
    "offsets.retention.minutes": 14 * 24 * 60,
}


def server_properties() -> str:
    """The properties as MSK takes them."""
    return "".join(f"{name}={value}\n" for name, value in PROPERTIES.items())


def configuration_name(prefix: str, kafka_version: str) -> str:
    """Name of the MSK configuration.

    MSK replaces a configuration when its Kafka versions change, the new one is made before the old one goes,
    and no two may have one name: so the name holds the version. Changed properties become a new revision.

    Args:
        prefix: What the side's names start with.
        kafka_version: Version of the brokers, as MSK names it.
    """
    return f"{prefix}-{re.sub(r'[^0-9A-Za-z]+', '-', kafka_version)}"
