"""What decides which side serves: weighted records over the twins."""

from cdktf import TerraformOutput
from constructs import Construct

from infra.components.records import WeightedRecords
from infra.config import Environment, Weights
from infra.stacks.base import Stack


class EdgeStack(Stack):
    """The last stack of an environment; a switch changes its weights and nothing else."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, weights: Weights) -> None:
        """Wire the components.

        Args:
            scope: The app.
            name: Name of the stack.
            environment: Settings of the environment.
            weights: The sides' shares of the traffic.
        """
        super().__init__(scope, name, environment=environment)
        WeightedRecords(self, "records", environment=environment, weights=weights)
        # A deployer asks the state which side is light, not a file that may be older.
        TerraformOutput(self, "weights", value=weights.model_dump())
