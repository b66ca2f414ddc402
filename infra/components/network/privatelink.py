"""A PrivateLink service: customers in AWS reach a side's internal load balancer from their own VPC."""

from collections.abc import Sequence

from cdktf_cdktf_provider_aws.data_aws_route53_zone import DataAwsRoute53Zone
from cdktf_cdktf_provider_aws.route53_record import Route53Record
from cdktf_cdktf_provider_aws.vpc_endpoint_service import VpcEndpointService
from cdktf_cdktf_provider_aws.vpc_endpoint_service_private_dns_verification import (
    VpcEndpointServicePrivateDnsVerification,
)
from constructs import Construct

_PROOF_TTL_S = 300


class PrivateLink(Construct):
    """The service and the proof that its private host name is ours.

    A customer's endpoint with private DNS answers the side's host name inside the customer's VPC. The events
    host is a weighted CNAME of the sides' host names: so our weights move these customers too.
    """

    def __init__(  # noqa: PLR0913 -- each a property of the service
        self,
        scope: Construct,
        name: str,
        *,
        service_name: str,
        balancer_arn: str,
        principals: Sequence[str],
        host: str,
        domain: str,
    ) -> None:
        """Declare service and proof.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            service_name: Name of the service, as a tag.
            balancer_arn: The side's load balancer.
            principals: ARNs of the accounts that may ask for a connection.
            host: The side's own host name.
            domain: Name of the hosted zone that the host is in.
        """
        super().__init__(scope, name)
        service = VpcEndpointService(
            self,
            "service",
            network_load_balancer_arns=[balancer_arn],
            acceptance_required=True,
            allowed_principals=list(principals),
            private_dns_name=host,
            supported_ip_address_types=["ipv4"],
            tags={"Name": service_name},
        )
        proof = service.private_dns_name_configuration.get(0)
        record = Route53Record(
            self,
            "proof",
            zone_id=DataAwsRoute53Zone(self, "zone", name=domain).zone_id,
            name=f"{proof.name}.{host}",
            type=proof.type,
            records=[proof.value],
            ttl=_PROOF_TTL_S,
        )
        VpcEndpointServicePrivateDnsVerification(
            self, "verification", service_id=service.id, wait_for_verification=True, depends_on=[record]
        )
