"""An AWS account as the preflight sees it: quotas, and what is there already."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import ClientError

from infra.config import Environment
from infra.naming import PROJECT
from infra.preflight.quotas import Shortage, vcpus

_OPEN = ["PENDING", "CASE_OPENED"]
_ROLE_OF_AUTOSCALING = "AWSServiceRoleForAutoScaling"


class Client(Protocol):
    """Gives a boto3 client of a service."""

    def __call__(self, service: str) -> Any:
        """A client of the service with this name."""


@dataclass(frozen=True)
class Account:
    """An account, seen through boto3 clients."""

    client: Client

    def quotas(self, wanted: Iterable[tuple[str, str]]) -> dict[str, int]:
        """The account's quotas by code.

        Args:
            wanted: Service code and quota code of each.
        """
        quotas = self.client("service-quotas")
        found = {}
        for service, code in wanted:
            reply = quotas.get_service_quota(ServiceCode=service, QuotaCode=code)
            found[code] = int(reply["Quota"]["Value"])
        return found

    def used_by_others(self) -> dict[str, int]:
        """Use of the account's quotas by all but this project, by quota code."""
        ec2 = self.client("ec2")
        addresses = _not_ours(ec2.describe_addresses()["Addresses"])
        vpcs = _not_ours(_all(ec2, "describe_vpcs", "Vpcs"))
        running = [
            instance
            for reservation in _all(ec2, "describe_instances", "Reservations")
            for instance in _not_ours(reservation["Instances"])
            if instance["State"]["Name"] in {"pending", "running"}
        ]
        cpus = Counter[bool]()
        for each in running:
            cpus[each.get("InstanceLifecycle") == "spot"] += vcpus(each["InstanceType"])
        return {
            "L-0263D0A3": len(addresses),
            "L-1216C47A": cpus[False],
            "L-34B43A08": cpus[True],
            "L-F678F1CE": len(vpcs),
        }

    def request(self, shortage: Shortage) -> str:
        """Ask AWS to raise a quota, unless it has been asked; the state of the request."""
        quotas, demand = self.client("service-quotas"), shortage.demand
        known = quotas.list_requested_service_quota_change_history_by_quota(
            ServiceCode=demand.service, QuotaCode=demand.code
        )["RequestedQuotas"]
        waiting = [each for each in known if each["Status"] in _OPEN]
        if waiting:
            return f"requested before: {waiting[0]['DesiredValue']:.0f}, {waiting[0]['Status']}"
        made = quotas.request_service_quota_increase(
            ServiceCode=demand.service, QuotaCode=demand.code, DesiredValue=float(shortage.wanted)
        )
        return f"requested now: {shortage.wanted}, {made['RequestedQuota']['Status']}"

    def problems(self, environment: Environment) -> list[str]:
        """Problems beside quotas that stop a deployment, each with its fix."""
        checks: list[Callable[[Environment], Iterable[str]]] = [
            self._identity,
            self._service_roles,
            self._connection,
            self._addon_versions,
        ]
        return [problem for check in checks for problem in check(environment)]

    def _identity(self, environment: Environment) -> Iterable[str]:
        found = self.client("sts").get_caller_identity()["Account"]
        if found != environment.account:
            yield (
                f"this shell's credentials are of account {found}, so nothing here is about "
                f"{environment.account}; use those of the environment's account"
            )

    def _service_roles(self, environment: Environment) -> Iterable[str]:
        exists = _exists(lambda: self.client("iam").get_role(RoleName=_ROLE_OF_AUTOSCALING))
        declared = "autoscaling.amazonaws.com" in environment.existing_service_roles
        if declared and not exists:
            yield f"{_ROLE_OF_AUTOSCALING} is in existing_service_roles, but missing; take it out there"
        if exists and not declared and not self._foundation_is_there(environment):
            yield (
                f"{_ROLE_OF_AUTOSCALING} exists, and an account can have it once; add "
                "autoscaling.amazonaws.com to existing_service_roles"
            )

    def _connection(self, environment: Environment) -> Iterable[str]:
        if not self._foundation_is_there(environment):
            return
        name = environment.names.github_connection
        connections = self.client("codestar-connections").list_connections(ProviderTypeFilter="GitHub")
        states = {each["ConnectionName"]: each["ConnectionStatus"] for each in connections["Connections"]}
        if states.get(name) != "AVAILABLE":
            yield f"connection {name} is {states.get(name, 'missing')}; confirm it in the console"

    def _addon_versions(self, environment: Environment) -> Iterable[str]:
        eks, cluster = self.client("eks"), environment.cluster
        for addon, version in cluster.addons.by_name().items():
            found = eks.describe_addon_versions(addonName=addon, kubernetesVersion=cluster.version)["addons"]
            offered = [each["addonVersion"] for every in found for each in every["addonVersions"]]
            if version not in offered:
                newest = offered[0] if offered else "none"
                yield (
                    f"{addon} {version} is not offered for Kubernetes {cluster.version}; use {newest} in "
                    "cluster.addons"
                )

    def _foundation_is_there(self, environment: Environment) -> bool:
        aliases = _all(self.client("kms"), "list_aliases", "Aliases")
        return environment.names.key_alias("cluster") in {each["AliasName"] for each in aliases}


def _all(client: Any, operation: str, part: str) -> list[Any]:
    return [each for page in client.get_paginator(operation).paginate() for each in page[part]]


def _not_ours(resources: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [each for each in resources if {"Key": "project", "Value": PROJECT} not in each.get("Tags", [])]


def _exists(look: Callable[[], object]) -> bool:
    try:
        look()
    except ClientError as error:
        if error.response["Error"]["Code"] in {"NoSuchEntity", "NoSuchEntityException"}:
            return False
        raise
    return True
