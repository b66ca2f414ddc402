"""Reasons why a group's nodes would not start: the key of their volumes, or the account's quotas."""

import json
from typing import Any

from moto.ec2.models import ec2_backends
from moto.kms.models import kms_backends

from infra.preflight.quotas import vcpus
from tests.deploy.aws.documents import Place
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.permissions import may
from tests.deploy.aws.quotas import Quotas
from tests.deploy.aws.rest import Document

_AUTOSCALING_ROLE = "role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
_USES_OF_A_VOLUMES_KEY = (
    "kms:CreateGrant",
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:GenerateDataKeyWithoutPlaintext",
)
_QUOTAS = {"ON_DEMAND": "L-1216C47A", "SPOT": "L-34B43A08"}


class Launches:
    """Judges launches as EC2 Auto Scaling and EC2 do."""

    def __init__(self, place: Place, parts: Parts, quotas: Quotas) -> None:
        self._place = place
        self._parts = parts
        self._quotas = quotas

    def fault(self, node_group: Document) -> str | None:
        """The reason why the nodes that a group now wants do not start; None if nothing stops them."""
        if not node_group["scalingConfig"]["desiredSize"]:
            return None
        return self._fault_of_key(node_group) or self._fault_of_quota(node_group)

    def _fault_of_key(self, node_group: Document) -> str | None:
        for key in self._volume_keys(node_group["launchTemplate"]):
            refused = [use for use in _USES_OF_A_VOLUMES_KEY if not self._auto_scaling_may(use, key)]
            if refused:
                return f"Client.InvalidKMSKey.InvalidState: Auto Scaling's role may not {refused[0]} on {key}"
        return None

    def _volume_keys(self, template: Document) -> set[str]:
        backend = ec2_backends[self._place.account][self._place.region]
        data: Any = backend.get_launch_template(template["id"]).latest_version().data
        volumes = [each.get("Ebs", {}) for each in data.get("BlockDeviceMappings", [])]
        return {each["KmsKeyId"] for each in volumes if each.get("KmsKeyId")}

    def _auto_scaling_may(self, action: str, key: str) -> bool:
        """Whether the key's policy names the role; the account has no role policy to lend it."""
        role = f"arn:aws:iam::{self._place.account}:{_AUTOSCALING_ROLE}"
        policy = kms_backends[self._place.account][self._place.region].describe_key(key).policy
        return any(
            each["Effect"] == "Allow"
            and role in _listed(each["Principal"].get("AWS", []))
            and may(set(_listed(each["Action"])), action)
            for each in json.loads(policy)["Statement"]
        )

    def _fault_of_quota(self, node_group: Document) -> str | None:
        capacity = node_group["capacityType"]
        alike = [each for each in self._parts.node_groups if each["capacityType"] == capacity]
        used = sum(_vcpus_of(each) for each in alike)
        quota = self._quotas.value(_QUOTAS[capacity])
        if used <= quota:
            return None
        return f"VcpuLimitExceeded: {used} vCPUs of {capacity} are more than the quota of {quota}"


def _vcpus_of(node_group: Document) -> int:
    desired: int = node_group["scalingConfig"]["desiredSize"]
    return desired * vcpus(node_group["instanceTypes"][0])


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
