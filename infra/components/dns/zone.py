"""The hosted zone and the certificates of both sides; in foundation, since no side can start without them."""

from collections.abc import Sequence

from cdktf import TerraformResourceLifecycle
from cdktf_cdktf_provider_aws.acm_certificate import AcmCertificate
from cdktf_cdktf_provider_aws.acm_certificate_validation import AcmCertificateValidation
from cdktf_cdktf_provider_aws.route53_record import Route53Record
from cdktf_cdktf_provider_aws.route53_zone import Route53Zone
from constructs import Construct

from infra.config import Environment

_VALIDATION_TTL_S = 300


class DnsZone(Construct):
    """The zone, the certificates of events and of API and console, and the records that validate them."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment) -> None:
        """Declare zone and certificates.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
        """
        super().__init__(scope, name)
        zone = Route53Zone(self, "zone", name=environment.domain, force_destroy=environment.is_local)
        self.zone_arn = str(zone.arn)
        self.name_servers = zone.name_servers
        _certificate(self, [environment.events_host], zone)
        management = Construct(self, "management")
        _certificate(management, [environment.api_host, environment.console_host], zone)


def _certificate(scope: Construct, hosts: Sequence[str], zone: Route53Zone) -> None:
    """A certificate of these hosts, validated by a record of each."""
    certificate = AcmCertificate(
        scope,
        "certificate",
        domain_name=hosts[0],
        subject_alternative_names=list(hosts[1:]) or None,
        validation_method="DNS",
        lifecycle=TerraformResourceLifecycle(create_before_destroy=True),
    )
    records = [_proof(scope, certificate, position, zone) for position in range(len(hosts))]
    AcmCertificateValidation(
        scope,
        "validation",
        certificate_arn=certificate.arn,
        validation_record_fqdns=[each.fqdn for each in records],
    )


def _proof(scope: Construct, certificate: AcmCertificate, position: int, zone: Route53Zone) -> Route53Record:
    proof = certificate.domain_validation_options.get(position)
    return Route53Record(
        scope,
        f"proof-{position}" if position else "proof",
        zone_id=zone.zone_id,
        name=proof.resource_record_name,
        type=proof.resource_record_type,
        records=[proof.resource_record_value],
        ttl=_VALIDATION_TTL_S,
    )
