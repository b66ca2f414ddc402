"""CloudWatch alarms of a Kafka cluster."""

from collections.abc import Iterator
from dataclasses import replace

from constructs import Construct

from infra.aws.alarm import Rule, alarm

_CLUSTER_RULES = (
    Rule(
        name="offline-partitions",
        metric="OfflinePartitionsCount",
        missing_data="ignore",
        description="Partitions without a leader: nothing reads or writes them",
    ),
    Rule(
        name="active-controllers",
        metric="ActiveControllerCount",
        comparison="LessThanThreshold",
        threshold=1,
        minutes=3,
        # A cluster that reports nothing for minutes is down; otherwise no alarm would say so.
        missing_data="breaching",
        description="No active controller: no leader is elected and no topic changed",
    ),
)
_BROKER_RULES = (
    Rule(
        name="disk",
        metric="KafkaDataLogsDiskUsed",
        threshold=80,
        minutes=5,
        description="Storage autoscaling does not keep up or has met its limit; at 100 % the broker stops",
    ),
    Rule(
        name="under-replicated",
        metric="UnderReplicatedPartitions",
        # MSK's own patching stops a broker for up to ten minutes.
        minutes=15,
        description="A replica stays behind: one more failure stops the writes",
    ),
    Rule(
        name="under-min-isr",
        metric="UnderMinIsrPartitionCount",
        description="Too few replicas in step: writes are refused",
    ),
)


def alarm_rules(brokers: int) -> Iterator[tuple[Rule, dict[str, str]]]:
    """Yield the rules of a cluster, then those of each of its brokers, with the dimension of the broker.

    Args:
        brokers: Number of brokers; MSK numbers them from 1.
    """
    for rule in _CLUSTER_RULES:
        yield rule, {}
    for broker in range(1, brokers + 1):
        for rule in _BROKER_RULES:
            yield replace(rule, name=f"{rule.name}-{broker}"), {"Broker ID": str(broker)}


class KafkaAlarms(Construct):
    """The alarms of an MSK cluster."""

    def __init__(
        self, scope: Construct, name: str, *, cluster_name: str, brokers: int, topic_arn: str
    ) -> None:
        """Declare the alarms.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            cluster_name: Name of the MSK cluster.
            brokers: Number of brokers.
            topic_arn: SNS topic notified when an alarm is raised and when it ends.
        """
        super().__init__(scope, name)
        for rule, broker in alarm_rules(brokers):
            alarm(
                self,
                rule,
                prefix=cluster_name,
                namespace="AWS/Kafka",
                dimensions={"Cluster Name": cluster_name} | broker,
                topic_arn=topic_arn,
            )
