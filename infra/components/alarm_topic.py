"""Where a side's alarms go."""

from collections.abc import Sequence

from cdktf_cdktf_provider_aws.sns_topic import SnsTopic
from cdktf_cdktf_provider_aws.sns_topic_subscription import SnsTopicSubscription
from constructs import Construct


class AlarmTopic(Construct):
    """An encrypted SNS topic that mails to its subscribers, who confirm once."""

    def __init__(
        self, scope: Construct, name: str, *, topic_name: str, key_arn: str, subscribers: Sequence[str]
    ) -> None:
        """Declare topic and subscriptions.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            topic_name: Name of the topic.
            key_arn: KMS key of the topic; its policy admits CloudWatch.
            subscribers: E-mail addresses.
        """
        super().__init__(scope, name)
        self._topic = SnsTopic(self, "topic", name=topic_name, kms_master_key_id=key_arn)
        for position, address in enumerate(subscribers):
            SnsTopicSubscription(
                self, f"mail-{position}", topic_arn=self._topic.arn, protocol="email", endpoint=address
            )

    @property
    def arn(self) -> str:
        """ARN of the topic."""
        return str(self._topic.arn)
