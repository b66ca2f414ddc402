"""EKS's own add-ons."""

from uuid import uuid4

from tests.deploy.aws.documents import Place, stamp
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.eks.pod_identities import PodIdentities
from tests.deploy.aws.rest import Document

NAMESPACE = "kube-system"
VERSION = "v1.0.0-eksbuild.1"


class Addons:
    """Add-ons of clusters, ACTIVE as soon as they are asked for, in one made-up version."""

    def __init__(self, place: Place, parts: Parts, identities: PodIdentities) -> None:
        self._place = place
        self._parts = parts
        self._identities = identities

    def create_addon(self, request: Document) -> Document:
        cluster, name = request["name"], request["addonName"]
        self._parts.clusters.get((cluster,))
        addon = {
            "addonVersion": VERSION,
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
        version = {"addonVersion": VERSION, "compatibilities": [serves]}
        return {"addons": [{"addonName": request["addonName"], "addonVersions": [version]}]}
