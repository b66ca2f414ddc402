"""A monthly budget and its notifications."""

from cdktf_cdktf_provider_aws.budgets_budget import BudgetsBudget, BudgetsBudgetNotification
from constructs import Construct

from infra.config import Environment

_SPENT_PERCENT = 80
_FORECAST_PERCENT = 100


class MonthlyBudget(Construct):
    """The budget of the account: an environment has an account of its own, so no filter by tag is needed."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment) -> None:
        """Declare the budget.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
        """
        super().__init__(scope, name)
        budget = environment.budget
        BudgetsBudget(
            self,
            "monthly",
            name=f"{environment.names.prefix}-monthly",
            budget_type="COST",
            time_unit="MONTHLY",
            limit_amount=str(budget.monthly_usd),
            limit_unit="USD",
            notification=[
                _notification("ACTUAL", _SPENT_PERCENT, budget.subscribers),
                _notification("FORECASTED", _FORECAST_PERCENT, budget.subscribers),
            ],
        )


def _notification(kind: str, percent: int, subscribers: list[str]) -> BudgetsBudgetNotification:
    return BudgetsBudgetNotification(
        notification_type=kind,
        comparison_operator="GREATER_THAN",
        threshold=percent,
        threshold_type="PERCENTAGE",
        subscriber_email_addresses=subscribers,
    )
