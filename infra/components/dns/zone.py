"""The hosted zone and the certificate of both sides; in foundation, since no side can start without them."""

from cdktf import TerraformResourceLifecycle
from cdktf_cdktf_provider_aws.acm_certificate import AcmCertificate
from cdktf_cdktf_provider_aws.acm_certificate_validation import AcmCertificateValidation
from cdktf_cdktf_provider_aws.route53_record import Route53Record
from cdktf_cdktf_provider_aws.route53_zone import Route53Zone
from constructs import Construct

from infra.config import Environment

_VALIDATION_TTL_S = 300


class DnsZone(Construct):
    """The zone, the certificate of the events host, and the DNS record that validates the certificate."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment) -> None:
        """Declare zone and certificate.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
        """
        super().__init__(scope, name)
        zone = Route53Zone(self, "zone", name=environment.domain, force_destroy=environment.is_local)
        self.zone_arn = str(zone.arn)
        self.name_servers = zone.name_servers
        certificate = AcmCertificate(
            self,
            "certificate",
            domain_name=environment.events_host,
            validation_method="DNS",
            lifecycle=TerraformResourceLifecycle(create_before_destroy=True),
        )
        proof = certificate.domain_validation_options.get(0)
        record = Route53Record(
            self,
            "proof",
            zone_id=zone.zone_id,
            name=proof.resource_record_name,
            type=proof.resource_record_type,
            records=[proof.resource_record_value],
            ttl=_VALIDATION_TTL_S,
        )
        AcmCertificateValidation(
            self, "validation", certificate_arn=certificate.arn, validation_record_fqdns=[record.fqdn]
        )
