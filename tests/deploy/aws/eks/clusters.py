"""EKS's clusters."""

from typing import Any
from uuid import uuid4

from moto.ec2.models import ec2_backends

from tests.deploy.aws.documents import Documents, Place, stamp
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.rest import Document, RefusedError

AUTHORITY = "bG9jYWw="


class Clusters:
    """Clusters, ACTIVE at once."""

    def __init__(self, place: Place, parts: Parts) -> None:
        self._place = place
        self._parts = parts
        missing = RefusedError("ResourceNotFoundException", status=404)
        self._updates = Documents("update", missing=missing, exists="ResourceInUseException")

    def create_cluster(self, request: Document) -> Document:
        """Refuses subnets of a single zone, as EKS does."""
        name = request["name"]
        document = {
            **request,
            "arn": self._place.arn("eks", f"cluster/{name}"),
            "status": "ACTIVE",
            "platformVersion": "eks.1",
            "createdAt": stamp(),
            "endpoint": f"https://{name}.{self._place.region}.eks.amazonaws.com",
            "certificateAuthority": {"data": AUTHORITY},
            "identity": {
                "oidc": {"issuer": f"https://oidc.eks.{self._place.region}.amazonaws.com/id/{name}"}
            },
            "tags": request.get("tags", {}),
            "resourcesVpcConfig": {**request["resourcesVpcConfig"], **self._network(request)},
            "kubernetesNetworkConfig": _with_defaults(
                request, "kubernetesNetworkConfig", serviceIpv4Cidr="172.20.0.0/16", ipFamily="ipv4"
            ),
            "accessConfig": _with_defaults(request, "accessConfig", authenticationMode="CONFIG_MAP"),
            "upgradePolicy": _with_defaults(request, "upgradePolicy", supportType="EXTENDED"),
        }
        return {"cluster": self._parts.clusters.add((name,), document)}

    def describe_cluster(self, request: Document) -> Document:
        return {"cluster": self._parts.clusters.get((request["name"],))}

    def list_clusters(self, request: Document) -> Document:
        return {"clusters": sorted(each["name"] for each in self._parts.clusters)}

    def update_cluster_config(self, request: Document) -> Document:
        cluster = self._parts.clusters.get((request.pop("name"),))
        for part, value in request.items():
            cluster[part] = {**cluster.get(part, {}), **value} if isinstance(value, dict) else value
        return self._updated()

    def describe_update(self, request: Document) -> Document:
        return {"update": self._updates.get((request["updateId"],))}

    def delete_cluster(self, request: Document) -> Document:
        """Refuses while node groups exist, as EKS does; everything else is deleted with the cluster."""
        name = request["name"]
        if self._parts.node_groups.of(name):
            raise RefusedError("ResourceInUseException", "Cluster has nodegroups attached", 409)
        cluster = self._parts.clusters.get((name,))
        for documents in self._parts:
            documents.remove_of(name)
        self._backend().delete_security_group(
            group_id=cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]
        )
        return {"cluster": cluster}

    def _network(self, request: Document) -> Document:
        names = request["resourcesVpcConfig"]["subnetIds"]
        if len(self._place.zones(names)) < 2:
            raise RefusedError("InvalidParameterException", "Subnets must be in at least two different zones")
        network = self._place.subnets(names)[0].vpc_id
        group = self._backend().create_security_group(
            f"eks-cluster-sg-{request['name']}-{uuid4().hex[:8]}", "Nodes and control plane", network
        )
        return {"vpcId": network, "clusterSecurityGroupId": group.id}

    def _backend(self) -> Any:
        return ec2_backends[self._place.account][self._place.region]

    def _updated(self) -> Document:
        name = str(uuid4())
        update = {"id": name, "status": "Successful", "createdAt": stamp(), "errors": []}
        return {"update": self._updates.add((name,), update)}


def _with_defaults(request: Document, part: str, **defaults: str) -> Document:
    return {**defaults, **(request.get(part) or {})}
