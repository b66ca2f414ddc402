"""CloudWatch alarms, each with an action, and the SNS topics that they notify."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
        name: Name of the alarm after its prefix.
        metric: Name of the metric in its namespace.
        description: The text that the person on call reads.
        statistic: Of the values of a minute.
        comparison: How the metric is compared with the threshold, as CloudWatch names it.
        threshold: In the metric's own unit.
        minutes: For how many minutes in a row the comparison must hold.
        missing_data: How CloudWatch treats a minute without data.
    """

    name: str
    metric: str
    description: str
    statistic: Literal["Maximum", "Sum"] = "Maximum"
    comparison: Literal["GreaterThanThreshold", "LessThanThreshold"] = "GreaterThanThreshold"
    threshold: float = 0
    minutes: int = 1
    missing_data: Literal["breaching", "ignore", "missing", "notBreaching"] = "missing"


def alarm(  # noqa: PLR0913 -- each a part of the alarm
    scope: Construct,
    rule: Rule,
    *,
    prefix: str,
    namespace: str,
    dimensions: Mapping[str, str],
    topic_arn: str,
) -> CloudwatchMetricAlarm:
    """Declare the alarm of a rule.

    Args:
        scope: The construct that it belongs to.
        rule: When it is raised.
        prefix: Start of its name.
        namespace: CloudWatch's namespace of the metric, such as `AWS/Kafka`.
        dimensions: What the metric is of.
        topic_arn: SNS topic notified when the alarm is raised and when it ends.
    """
    return CloudwatchMetricAlarm(
        scope,
        rule.name,
        alarm_name=f"{prefix}-{rule.name}",
        alarm_description=rule.description,
        namespace=namespace,
        metric_name=rule.metric,
        dimensions=dict(dimensions),
        statistic=rule.statistic,
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
            key_arn: KMS key of the topic; its policy admits the services that publish.
            subscribers: E-mail addresses.
        """
        super().__init__(scope, name)
        self.topic = SnsTopic(self, "topic", name=topic_name, kms_master_key_id=key_arn)
        self.arn = str(self.topic.arn)
        for position, address in enumerate(subscribers):
            SnsTopicSubscription(
                self, f"mail-{position}", topic_arn=self.topic.arn, protocol="email", endpoint=address
            )
