"""Patches of moto, which forgets parts of requests, removals and key owners, as a second plan shows."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from moto.ec2.models import EC2Backend
from moto.ec2.models.launch_templates import LaunchTemplate
from moto.ec2.models.security_groups import SecurityGroupRule
from moto.kms.models import KmsBackend
from moto.route53.models import HealthCheck, Route53Backend
from moto.route53.responses import Route53

_OF_AN_ALARM: Final = "CLOUDWATCH_METRIC"
_CREATE_ALIAS: Final[Any] = KmsBackend.create_alias
_DELETE_GATEWAY: Final[Any] = EC2Backend.delete_nat_gateway
_DELETE_VPC: Final[Any] = EC2Backend.delete_vpc
_MAKE_RULE: Final[Any] = SecurityGroupRule.__init__
_MAKE_TEMPLATE: Final[Any] = LaunchTemplate.__init__
_CREATE_CHECK: Final[Any] = Route53.create_health_check
_UPDATE_CHECK: Final[Any] = Route53Backend.update_health_check
_CONFIG_OF_CHECK: Final[Any] = HealthCheck.health_check_config


def make_rule(rule: Any, *given: Any, **named: Any) -> None:
    """Like moto's, which keeps only the id of the last prefix list."""
    _MAKE_RULE(rule, *given, **named)
    rule.prefix_list = given[-1] or {}


def description_of_rule(rule: Any) -> str | None:
    """The description of a rule; moto knows only that of address ranges."""
    sources = (rule.ip_range, rule.source_group, rule.prefix_list)
    return next((each["Description"] for each in sources if each.get("Description")), None)


def make_template(template: Any, backend: Any, name: str, data: dict[str, Any], *rest: Any) -> None:
    """Like moto's, which takes the template's own tags for tags of the resources made from it."""
    specified = data.get("TagSpecifications", [])
    kept = [each for each in specified if each["ResourceType"] != "launch-template"]
    _MAKE_TEMPLATE(template, backend, name, data | {"TagSpecifications": kept}, *rest)


def delete_nat_gateway(backend: Any, gateway: str) -> Any:
    """Like moto's, which leaves the gateway's network interface behind."""
    deleted = _DELETE_GATEWAY(backend, gateway)
    for interface in [name for name, each in backend.enis.items() if each is deleted._eni]:
        del backend.enis[interface]
    return deleted


def delete_vpc(backend: Any, network: str) -> Any:
    """Like moto's, which leaves the network's default access list behind."""
    deleted = _DELETE_VPC(backend, network)
    for name in [name for name, each in backend.network_acls.items() if each.vpc_id == network]:
        del backend.network_acls[name]
    return deleted


def create_alias(backend: Any, key: str, alias: str) -> None:
    """Like moto's, which takes a service's key made by AWS for a customer's."""
    _CREATE_ALIAS(backend, key, alias)
    if alias.startswith("alias/aws/"):
        backend.describe_key(key).key_manager = "AWS"


def create_health_check(response: Any) -> Any:
    """Like moto's, which forgets the alarm of a check."""
    reply = _CREATE_CHECK(response)
    reply.result["HealthCheck"].given = response._get_param("HealthCheckConfig")
    return reply


def update_health_check(backend: Any, check_id: str, changes: dict[str, Any]) -> Any:
    """Like moto's, after which a check with an alarm has to return the changed values."""
    check = _UPDATE_CHECK(backend, check_id, changes)
    if check.type_ == _OF_AN_ALARM:
        named = {"Disabled": changes.get("disabled"), "Inverted": changes.get("inverted")}
        check.given = {**check.given, **{name: value for name, value in named.items() if value is not None}}
    return check


def config_of_check(check: Any) -> Mapping[str, Any]:
    """The given values for a check with an alarm, since nothing is probed; otherwise moto's."""
    if check.type_ == _OF_AN_ALARM:
        given: Mapping[str, Any] = check.given
        return given
    own: Mapping[str, Any] = _CONFIG_OF_CHECK.fget(check)
    return own


REMEMBERED: Final[Mapping[tuple[type, str], Any]] = MappingProxyType(
    {
        (EC2Backend, "delete_nat_gateway"): delete_nat_gateway,
        (EC2Backend, "delete_vpc"): delete_vpc,
        (KmsBackend, "create_alias"): create_alias,
        (SecurityGroupRule, "__init__"): make_rule,
        (SecurityGroupRule, "description"): property(description_of_rule),
        (LaunchTemplate, "__init__"): make_template,
        (Route53, "create_health_check"): create_health_check,
        (Route53Backend, "update_health_check"): update_health_check,
        (HealthCheck, "health_check_config"): property(config_of_check),
    }
)
