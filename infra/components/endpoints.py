"""The AWS services a side's nodes reach without leaving the VPC."""

from collections.abc import Sequence

from cdktf_cdktf_provider_aws.security_group import SecurityGroup
from cdktf_cdktf_provider_aws.vpc_endpoint import VpcEndpoint
from constructs import Construct

from infra.components.network import Network

# S3 holds checkpoints and image layers; both kinds are free.
_GATEWAYS = ("s3", "dynamodb")


class Endpoints(Construct):
    """Gateway and interface endpoints; interface endpoints answer by the services' usual names."""

    def __init__(  # noqa: PLR0913 -- keywords, each a fact of the endpoints
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
            name: Name of this part in the stack.
            prefix: What names in AWS start with.
            region: AWS region.
            network: Where they are.
            security_group: Who reaches the interface endpoints.
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
