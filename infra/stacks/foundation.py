"""The foundation stack: what both sides share, such as keys, images, buckets, tables and deploy roles."""

from cdktf import TerraformOutput
from constructs import Construct

from infra.components.budget import MonthlyBudget
from infra.components.deployment.github_connection import GithubConnection
from infra.components.deployment.live_traffic import LiveTraffic
from infra.components.deployment.roles import DeployRoles
from infra.components.dns.zone import DnsZone
from infra.components.encryption.keys import Keys
from infra.components.identity.deployer_role import DeployerRole
from infra.components.identity.permissions_boundary import PermissionsBoundary
from infra.components.identity.service_linked_roles import ServiceLinkedRoles
from infra.components.storage.buckets import Buckets
from infra.components.storage.dynamodb_tables import DynamodbTables
from infra.components.storage.image_registry import ImageRegistry
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
        services = ServiceLinkedRoles(self, "services", existing=environment.existing_service_roles)
        keys = Keys(self, "keys", environment=environment, after=services.roles)
        Buckets(self, "buckets", environment=environment, keys=keys)
        ImageRegistry(self, "registry", environment=environment, key_arn=keys.arn("images"))
        DynamodbTables(self, "tables", environment=environment, key_arn=keys.arn("data"))
        zone = DnsZone(self, "zone", environment=environment)
        PermissionsBoundary(self, "boundary", environment=environment)
        DeployRoles(self, "deploy", environment=environment, zone_arn=zone.zone_arn)
        DeployerRole(
            self,
            "deployer",
            environment=environment,
            zone_arn=zone.zone_arn,
            key_arns={purpose: keys.arn(purpose) for purpose in ("data", "images")},
        )
        GithubConnection(self, "github", connection_name=environment.names.github_connection)
        LiveTraffic(self, "traffic", names=environment.names)
        MonthlyBudget(self, "budget", environment=environment, key_arn=keys.arn("logs"))
        TerraformOutput(self, "name_servers", value=zone.name_servers)
