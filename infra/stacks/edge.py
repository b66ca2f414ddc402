"""The edge stack: weighted DNS records that decide which side gets the traffic."""

from cdktf import TerraformOutput
from constructs import Construct

from infra.components.dns.records import WeightedRecords
from infra.config import Environment, Weights
from infra.stacks.base import Stack


class EdgeStack(Stack):
    """The last stack of an environment; a switch changes only its weights."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, weights: Weights) -> None:
        """Wire the components.

        Args:
            scope: The app.
            name: Name of the stack.
            environment: Settings of the environment.
            weights: Weight of each side.
        """
        super().__init__(scope, name, environment=environment)
        WeightedRecords(self, "records", environment=environment, weights=weights)
        # Deployments read from the state which side serves: the file of weights may be out of date.
        TerraformOutput(self, "weights", value=weights.model_dump())
