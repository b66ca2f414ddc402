"""What both sides and their deployments need first: keys, images, buckets, tables, the deploy role."""

from cdktf import TerraformOutput
from constructs import Construct

from infra.components.boundary import Boundary
from infra.components.buckets import Buckets
from infra.components.budget import MonthlyBudget
from infra.components.deploy_role import DeployRoles
from infra.components.keys import Keys
from infra.components.registry import Registry
from infra.components.tables import Tables
from infra.components.zone import Zone
from infra.config import Environment
from infra.stacks.base import Stack


class FoundationStack(Stack):
    """The first stack of an environment."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment) -> None:
        """Wire the components.

        Args:
            scope: The app.
            name: Name of the stack.
            environment: Settings of the environment.
        """
        super().__init__(scope, name, environment=environment)
        keys = Keys(self, "keys", environment=environment)
        Buckets(self, "buckets", environment=environment, keys=keys)
        Registry(self, "registry", environment=environment, key_arn=keys.arn("images"))
        Tables(self, "tables", environment=environment, key_arn=keys.arn("data"))
        zone = Zone(self, "zone", environment=environment)
        Boundary(self, "boundary", environment=environment)
        DeployRoles(self, "deploy", environment=environment, zone_arn=zone.zone_arn)
        MonthlyBudget(self, "budget", environment=environment)
        TerraformOutput(self, "name_servers", value=zone.name_servers)
