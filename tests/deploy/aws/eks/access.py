"""EKS's access entries and their policies."""

from uuid import uuid4

from tests.deploy.aws.documents import Place, stamp
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.rest import Document


class Access:
    """Access entries of a cluster's Kubernetes API."""

    def __init__(self, place: Place, parts: Parts) -> None:
        self._place = place
        self._parts = parts

    def create_access_entry(self, request: Document) -> Document:
        cluster, principal = request["name"], request["principalArn"]
        self._parts.clusters.get((cluster,))
        entry = {
            "type": "STANDARD",
            "kubernetesGroups": [],
            "username": principal,
            "tags": {},
            **request,
            "clusterName": cluster,
            "accessEntryArn": self._place.arn("eks", f"access-entry/{cluster}/{uuid4()}"),
            "createdAt": stamp(),
            "modifiedAt": stamp(),
        }
        return {"accessEntry": self._parts.access_entries.add((cluster, principal), entry)}

    def describe_access_entry(self, request: Document) -> Document:
        key = (request["name"], request["principalArn"])
        return {"accessEntry": self._parts.access_entries.get(key)}

    def list_access_entries(self, request: Document) -> Document:
        entries = self._parts.access_entries.of(request["name"])
        return {"accessEntries": [each["principalArn"] for each in entries]}

    def delete_access_entry(self, request: Document) -> Document:
        key = (request["name"], request["principalArn"])
        self._parts.access_entries.remove(key)
        self._parts.access_policies.remove_of(*key)
        return {}

    def associate_access_policy(self, request: Document) -> Document:
        key = (request["name"], request["principalArn"])
        self._parts.access_entries.get(key)
        policy = {
            "policyArn": request["policyArn"],
            "accessScope": {"namespaces": [], **request["accessScope"]},
            "associatedAt": stamp(),
            "modifiedAt": stamp(),
        }
        self._parts.access_policies.add((*key, request["policyArn"]), policy)
        return {"clusterName": key[0], "principalArn": key[1], "associatedAccessPolicy": policy}

    def list_associated_access_policies(self, request: Document) -> Document:
        key = (request["name"], request["principalArn"])
        found = self._parts.access_policies.of(*key)
        return {"clusterName": key[0], "principalArn": key[1], "associatedAccessPolicies": found}

    def disassociate_access_policy(self, request: Document) -> Document:
        key = (request["name"], request["principalArn"], request["policyArn"])
        self._parts.access_policies.remove(key)
        return {}
