"""The edge stack, of both sides: the weighted DNS records before them, and the way between them."""

from constructs import Construct

from infra.components.dns.records import WeightedRecords
from infra.components.network.peering import Peering
from infra.config import Environment
from infra.stacks.base import Stack


class EdgeStack(Stack):
    """The last stack of an environment. It takes the weights that hold, so deploying it moves no traffic."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment) -> None:
        """Wire the components.

        Args:
            scope: The app.
            name: Name of the stack.
            environment: Settings of the environment.
        """
        super().__init__(scope, name, environment=environment)
        WeightedRecords(self, "records", environment=environment)
        Peering(self, "peering", environment=environment)
