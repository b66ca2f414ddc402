"""VPC endpoints: AWS services that a side's nodes reach without leaving the VPC."""

from collections.abc import Sequence

from cdktf_cdktf_provider_aws.security_group import SecurityGroup
from cdktf_cdktf_provider_aws.vpc_endpoint import VpcEndpoint
from constructs import Construct

from infra.components.network.vpc import Network

# S3 holds checkpoints and image layers. Gateway endpoints cost nothing.
_GATEWAYS = ("s3", "dynamodb")


class VpcEndpoints(Construct):
    """Gateway and interface endpoints, both reached by the services' usual host names."""

    def __init__(  # noqa: PLR0913 -- each a property of the endpoints
        self,
        scope: Construct,
        name: str,
        *,
        prefix: str,
        region: str,
        network: Network,
        security_group: SecurityGroup,
        interfaces: Sequence[str],
    ) -> None:
        """Declare the endpoints.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            prefix: Start of the names in AWS.
            region: AWS region.
            network: VPC, subnets and route tables of the endpoints.
            security_group: Security group of the interface endpoints.
            interfaces: Services with an interface endpoint, as AWS names them, such as `ecr.api`.
        """
        super().__init__(scope, name)
        for service in _GATEWAYS:
            VpcEndpoint(
                self,
                service,
                vpc_id=network.vpc_id,
                service_name=f"com.amazonaws.{region}.{service}",
                vpc_endpoint_type="Gateway",
                route_table_ids=network.route_table_ids,
                tags={"Name": f"{prefix}-{service}"},
            )
        for service in interfaces:
            VpcEndpoint(
                self,
                service,
                vpc_id=network.vpc_id,
                service_name=f"com.amazonaws.{region}.{service}",
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=network.subnet_ids,
                security_group_ids=[security_group.id],
                tags={"Name": f"{prefix}-{service}"},
            )
