"""EKS's managed node groups, and the Auto Scaling group that EKS creates for each."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from tests.deploy.aws.documents import Place, stamp
from tests.deploy.aws.eks.launches import Launches
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.rest import Document, RefusedError

TEMPLATE_NAMES = {"id": "LaunchTemplateId", "name": "LaunchTemplateName", "version": "Version"}


class NodeGroups:
    """Node groups, ACTIVE at once if their nodes could start. None starts: Auto Scaling groups stay empty."""

    def __init__(
        self, place: Place, parts: Parts, launches: Launches, autoscaling: Callable[[], Any]
    ) -> None:
        self._place = place
        self._parts = parts
        self._launches = launches
        self._autoscaling = autoscaling

    def create_nodegroup(self, request: Document) -> Document:
        cluster, name = self._parts.clusters.get((request["name"],)), request["nodegroupName"]
        scaling_group = f"eks-{name}-{uuid4()}"
        node_group = {
            "amiType": "AL2023_x86_64_STANDARD",
            "capacityType": "ON_DEMAND",
            "labels": {},
            "taints": [],
            "tags": {},
            "updateConfig": {"maxUnavailable": 1},
            "version": cluster["version"],
            "releaseVersion": f"{cluster['version']}.0-20260101",
            **request,
            "clusterName": cluster["name"],
            "nodegroupArn": self._place.arn("eks", f"nodegroup/{cluster['name']}/{name}/{uuid4()}"),
            "status": "ACTIVE",
            "health": {"issues": []},
            "resources": {"autoScalingGroups": [{"name": scaling_group}]},
            "createdAt": stamp(),
            "modifiedAt": stamp(),
        }
        self._parts.node_groups.add((cluster["name"], name), node_group)
        self._make_scaling_group(scaling_group, request)
        fault = self._launches.fault(node_group)
        if fault is not None:
            issue = {"code": "AsgInstanceLaunchFailures", "message": fault, "resourceIds": [scaling_group]}
            node_group |= {"status": "CREATE_FAILED", "health": {"issues": [issue]}}
        return {"nodegroup": node_group}

    def describe_nodegroup(self, request: Document) -> Document:
        return {"nodegroup": self._parts.node_groups.get(_key(request))}

    def list_nodegroups(self, request: Document) -> Document:
        return {"nodegroups": [each["nodegroupName"] for each in self._parts.node_groups.of(request["name"])]}

    def update_nodegroup_config(self, request: Document) -> Document:
        """Accepts the sizes that the Cluster Autoscaler sets."""
        sizes = request.get("scalingConfig") or {}
        self._parts.node_groups.get(_key(request))["scalingConfig"].update(sizes)
        return {"update": {"id": str(uuid4()), "status": "Successful", "errors": []}}

    def delete_nodegroup(self, request: Document) -> Document:
        node_group = self._parts.node_groups.remove(_key(request))
        for each in node_group["resources"]["autoScalingGroups"]:
            self._autoscaling().delete_auto_scaling_group(AutoScalingGroupName=each["name"], ForceDelete=True)
        return {"nodegroup": node_group}

    def _make_scaling_group(self, name: str, request: Document) -> None:
        template = request.get("launchTemplate")
        if not template:
            raise RefusedError(
                "InvalidParameterException", "The local EKS makes no launch template: give one"
            )
        self._autoscaling().create_auto_scaling_group(
            AutoScalingGroupName=name,
            LaunchTemplate={TEMPLATE_NAMES[part]: value for part, value in template.items() if value},
            MinSize=0,
            MaxSize=request["scalingConfig"]["maxSize"],
            DesiredCapacity=0,
            VPCZoneIdentifier=",".join(request["subnets"]),
            Tags=[_tag(name, key, value) for key, value in _ownership(request).items()],
        )


def _key(request: Document) -> tuple[str, str]:
    return request["name"], request["nodegroupName"]


def _ownership(request: Document) -> dict[str, str]:
    """The tags that EKS itself sets."""
    cluster = request["name"]
    return {
        "eks:cluster-name": cluster,
        "eks:nodegroup-name": request["nodegroupName"],
        f"kubernetes.io/cluster/{cluster}": "owned",
        "k8s.io/cluster-autoscaler/enabled": "true",
        f"k8s.io/cluster-autoscaler/{cluster}": "owned",
    }


def _tag(group: str, key: str, value: str) -> Document:
    of = {"ResourceId": group, "ResourceType": "auto-scaling-group"}
    return {**of, "Key": key, "Value": value, "PropagateAtLaunch": True}
