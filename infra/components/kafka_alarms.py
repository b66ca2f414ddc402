"""What of a Kafka cluster must wake someone."""

from collections.abc import Iterator
from dataclasses import dataclass

from cdktf_cdktf_provider_aws.cloudwatch_metric_alarm import CloudwatchMetricAlarm
from constructs import Construct

_MINUTE = 60


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When one metric raises an alarm."""

    name: str
    metric: str
    comparison: str
    threshold: float
    minutes: int
    silence: str
    """What no data means, as CloudWatch names it."""
    meaning: str
    """What the person who is woken reads."""
    broker: int | None = None
    """Of which broker; None: of the cluster."""


def alarm_rules(brokers: int) -> Iterator[Rule]:
    """Every rule of a cluster.

    Args:
        brokers: How many brokers it has.
    """
    yield Rule(
        name="offline-partitions",
        metric="OfflinePartitionsCount",
        comparison="GreaterThanThreshold",
        threshold=0,
        minutes=1,
        silence="ignore",
        meaning="Partitions without a leader: nothing reads or writes them",
    )
    yield Rule(
        name="active-controllers",
        metric="ActiveControllerCount",
        comparison="LessThanThreshold",
        threshold=1,
        minutes=3,
        # A cluster that reports nothing for minutes is down, or nobody would know.
        silence="breaching",
        meaning="No active controller: no leader is elected and no topic changed",
    )
    for broker in range(1, brokers + 1):
        yield from _broker_rules(broker)


def _broker_rules(broker: int) -> Iterator[Rule]:
    yield Rule(
        name=f"disk-{broker}",
        metric="KafkaDataLogsDiskUsed",
        comparison="GreaterThanThreshold",
        threshold=80,
        minutes=5,
        silence="missing",
        meaning="Storage autoscaling does not keep up or has met its limit; at 100 % the broker stops",
        broker=broker,
    )
    yield Rule(
        name=f"under-replicated-{broker}",
        metric="UnderReplicatedPartitions",
        comparison="GreaterThanThreshold",
        threshold=0,
        # MSK's own patching takes a broker away for up to ten minutes.
        minutes=15,
        silence="missing",
        meaning="A replica stays behind: one more failure stops the writes",
        broker=broker,
    )
    yield Rule(
        name=f"under-min-isr-{broker}",
        metric="UnderMinIsrPartitionCount",
        comparison="GreaterThanThreshold",
        threshold=0,
        minutes=1,
        silence="missing",
        meaning="Too few replicas in step: writes are refused",
        broker=broker,
    )


class KafkaAlarms(Construct):
    """The alarms of an MSK cluster."""

    def __init__(
        self, scope: Construct, name: str, *, cluster_name: str, brokers: int, topic_arn: str
    ) -> None:
        """Declare the alarms.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            cluster_name: Name of the MSK cluster.
            brokers: How many brokers it has.
            topic_arn: SNS topic that is told when an alarm is raised and when it ends.
        """
        super().__init__(scope, name)
        for rule in alarm_rules(brokers):
            self._alarm(rule, cluster_name, topic_arn)

    def _alarm(self, rule: Rule, cluster_name: str, topic_arn: str) -> None:
        broker = {} if rule.broker is None else {"Broker ID": str(rule.broker)}
        CloudwatchMetricAlarm(
            self,
            rule.name,
            alarm_name=f"{cluster_name}-{rule.name}",
            alarm_description=rule.meaning,
            namespace="AWS/Kafka",
            metric_name=rule.metric,
            dimensions={"Cluster Name": cluster_name} | broker,
            statistic="Maximum",
            comparison_operator=rule.comparison,
            threshold=rule.threshold,
            period=_MINUTE,
            evaluation_periods=rule.minutes,
            treat_missing_data=rule.silence,
            alarm_actions=[topic_arn],
            ok_actions=[topic_arn],
        )
