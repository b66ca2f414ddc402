"""CloudWatch alarms of a Kafka cluster, and the SNS topic that a side's alarms go to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cdktf_cdktf_provider_aws.cloudwatch_metric_alarm import CloudwatchMetricAlarm
from cdktf_cdktf_provider_aws.sns_topic import SnsTopic
from cdktf_cdktf_provider_aws.sns_topic_subscription import SnsTopicSubscription
from constructs import Construct

_PERIOD_S = 60


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When one metric raises an alarm.

    Attributes:
        name: Name of the alarm, unique in its cluster.
        metric: Name of the metric in CloudWatch's namespace `AWS/Kafka`.
        description: The text that the person on call reads.
        comparison: How the metric is compared with the threshold, as CloudWatch names it.
        threshold: In the metric's own unit.
        minutes: For how many minutes in a row the comparison must hold.
        missing_data: How CloudWatch treats a minute without data.
        broker: Number of the broker; None: the whole cluster.
    """

    name: str
    metric: str
    description: str
    comparison: Literal["GreaterThanThreshold", "LessThanThreshold"] = "GreaterThanThreshold"
    threshold: float = 0
    minutes: int = 1
    missing_data: Literal["breaching", "ignore", "missing"] = "missing"
    broker: int | None = None


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


def alarm_rules(brokers: int) -> Iterator[Rule]:
    """Yield the rules of a cluster, then those of each of its brokers.

    Args:
        brokers: Number of brokers; MSK numbers them from 1.
    """
    yield from _CLUSTER_RULES
    for broker in range(1, brokers + 1):
        for rule in _BROKER_RULES:
            yield replace(rule, name=f"{rule.name}-{broker}", broker=broker)


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
        for rule in alarm_rules(brokers):
            self._alarm(rule, cluster_name, topic_arn)

    def _alarm(self, rule: Rule, cluster_name: str, topic_arn: str) -> None:
        broker = {} if rule.broker is None else {"Broker ID": str(rule.broker)}
        CloudwatchMetricAlarm(
            self,
            rule.name,
            alarm_name=f"{cluster_name}-{rule.name}",
            alarm_description=rule.description,
            namespace="AWS/Kafka",
            metric_name=rule.metric,
            dimensions={"Cluster Name": cluster_name} | broker,
            statistic="Maximum",
            comparison_operator=rule.comparison,
            threshold=rule.threshold,
            period=_PERIOD_S,
            evaluation_periods=rule.minutes,
            treat_missing_data=rule.missing_data,
            alarm_actions=[topic_arn],
            ok_actions=[topic_arn],
        )


class AlarmTopic(Construct):
    """An encrypted SNS topic that mails its subscribers, who each confirm once."""

    def __init__(
        self, scope: Construct, name: str, *, topic_name: str, key_arn: str, subscribers: Sequence[str]
    ) -> None:
        """Declare the topic and its subscriptions.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            topic_name: Name of the topic.
            key_arn: KMS key of the topic; its policy admits CloudWatch.
            subscribers: E-mail addresses.
        """
        super().__init__(scope, name)
        topic = SnsTopic(self, "topic", name=topic_name, kms_master_key_id=key_arn)
        self.arn = str(topic.arn)
        for position, address in enumerate(subscribers):
            SnsTopicSubscription(
                self, f"mail-{position}", topic_arn=topic.arn, protocol="email", endpoint=address
            )
