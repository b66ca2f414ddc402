"""A monthly budget and its notifications."""

from cdktf_cdktf_provider_aws.budgets_budget import BudgetsBudget, BudgetsBudgetNotification
from cdktf_cdktf_provider_aws.sns_topic_policy import SnsTopicPolicy
from constructs import Construct

from infra.aws.alarm import AlarmTopic
from infra.aws.policy import Statement, policy_document
from infra.config import Environment

_SPENT_PERCENT = 80
_FORECAST_PERCENT = 100


class MonthlyBudget(Construct):
    """The budget of the account: an environment has an account of its own, so no filter by tag is needed."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, key_arn: str) -> None:
        """Declare the budget and the topic that it notifies.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
            key_arn: KMS key of the topic; its policy admits AWS Budgets.
        """
        super().__init__(scope, name)
        budget = environment.budget
        topic = AlarmTopic(
            self,
            "alarms",
            topic_name=environment.names.budget_topic,
            key_arn=key_arn,
            subscribers=budget.subscribers,
        )
        # Unlike CloudWatch, AWS Budgets may publish only if the topic says so.
        policy = SnsTopicPolicy(
            self, "policy", arn=topic.arn, policy=policy_document([_publish(environment, topic.arn)])
        )
        BudgetsBudget(
            self,
            "monthly",
            name=f"{environment.names.prefix}-monthly",
            budget_type="COST",
            time_unit="MONTHLY",
            limit_amount=str(budget.monthly_usd),
            limit_unit="USD",
            notification=[
                _notification("ACTUAL", _SPENT_PERCENT, topic.arn),
                _notification("FORECASTED", _FORECAST_PERCENT, topic.arn),
            ],
            depends_on=[policy],
        )


def _publish(environment: Environment, topic_arn: str) -> Statement:
    return Statement(
        sid="BudgetsPublish",
        actions=["sns:Publish"],
        resources=[topic_arn],
        principals={"Service": "budgets.amazonaws.com"},
        conditions={"StringEquals": {"aws:SourceAccount": environment.account}},
    )


def _notification(kind: str, percent: int, topic_arn: str) -> BudgetsBudgetNotification:
    return BudgetsBudgetNotification(
        notification_type=kind,
        comparison_operator="GREATER_THAN",
        threshold=percent,
        threshold_type="PERCENTAGE",
        subscriber_sns_topic_arns=[topic_arn],
    )
