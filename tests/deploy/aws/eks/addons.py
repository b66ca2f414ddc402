"""EKS's own add-ons."""

from uuid import uuid4

from tests.deploy.aws.documents import Place, stamp
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.eks.pod_identities import PodIdentities
from tests.deploy.aws.rest import Document, RefusedError

NAMESPACE = "kube-system"
# For Kubernetes 1.35.
VERSIONS = {
    "aws-ebs-csi-driver": "v1.56.0-eksbuild.1",
    "coredns": "v1.13.2-eksbuild.1",
    "eks-pod-identity-agent": "v1.3.10-eksbuild.2",
    "kube-proxy": "v1.35.3-eksbuild.13",
    "vpc-cni": "v1.21.1-eksbuild.3",
}


class Addons:
    """Add-ons of clusters, each in one version and ACTIVE at once."""

    def __init__(self, place: Place, parts: Parts, identities: PodIdentities) -> None:
        self._place = place
        self._parts = parts
        self._identities = identities

    def create_addon(self, request: Document) -> Document:
        """Refuses a version that EKS does not offer."""
        cluster, name = request["name"], request["addonName"]
        self._parts.clusters.get((cluster,))
        if request.get("addonVersion", VERSIONS[name]) != VERSIONS[name]:
            raise RefusedError("InvalidParameterException", f"Addon version {name} is not supported")
        addon = {
            "addonVersion": VERSIONS[name],
            "tags": {},
            **request,
            "clusterName": cluster,
            "podIdentityAssociations": self._identities.of_addon(
                cluster, NAMESPACE, request.get("podIdentityAssociations", [])
            ),
            "addonArn": self._place.arn("eks", f"addon/{cluster}/{name}/{uuid4()}"),
            "status": "ACTIVE",
            "health": {"issues": []},
            "createdAt": stamp(),
            "modifiedAt": stamp(),
        }
        return {"addon": self._parts.addons.add((cluster, name), addon)}

    def describe_addon(self, request: Document) -> Document:
        return {"addon": self._parts.addons.get((request["name"], request["addonName"]))}

    def list_addons(self, request: Document) -> Document:
        return {"addons": [each["addonName"] for each in self._parts.addons.of(request["name"])]}

    def delete_addon(self, request: Document) -> Document:
        addon = self._parts.addons.remove((request["name"], request["addonName"]))
        for arn in addon["podIdentityAssociations"]:
            self._parts.pod_identities.remove((request["name"], arn.rpartition("/")[2]))
        return {"addon": addon}

    def describe_addon_versions(self, request: Document) -> Document:
        serves = {"clusterVersion": request["kubernetesVersion"], "defaultVersion": True}
        version = {"addonVersion": VERSIONS[request["addonName"]], "compatibilities": [serves]}
        return {"addons": [{"addonName": request["addonName"], "addonVersions": [version]}]}
