"""EKS's pod identity associations."""

from uuid import uuid4

from tests.deploy.aws.documents import Place, stamp
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.rest import Document, RefusedError


class PodIdentities:
    """IAM roles that pods get through their service accounts."""

    def __init__(self, place: Place, parts: Parts) -> None:
        self._place = place
        self._parts = parts

    def create_pod_identity_association(self, request: Document) -> Document:
        """Refuses a second association of a service account, as EKS does."""
        cluster = request["name"]
        self._parts.clusters.get((cluster,))
        account = _account(request)
        if account in map(_account, self._parts.pod_identities.of(cluster)):
            raise RefusedError("ResourceInUseException", f"{'/'.join(account)} has an association", 409)
        name = f"a-{uuid4().hex[:17]}"
        association = {
            "tags": {},
            **request,
            "clusterName": cluster,
            "associationId": name,
            "associationArn": self._place.arn("eks", f"podidentityassociation/{cluster}/{name}"),
            "createdAt": stamp(),
            "modifiedAt": stamp(),
        }
        return {"association": self._parts.pod_identities.add((cluster, name), association)}

    def of_addon(self, cluster: str, namespace: str, asked: list[Document]) -> list[str]:
        """Associate an add-on's service accounts; returns the ARNs."""
        made = [
            self.create_pod_identity_association({**each, "name": cluster, "namespace": namespace})
            for each in asked
        ]
        return [each["association"]["associationArn"] for each in made]

    def describe_pod_identity_association(self, request: Document) -> Document:
        return {"association": self._parts.pod_identities.get((request["name"], request["associationId"]))}

    def list_pod_identity_associations(self, request: Document) -> Document:
        return {"associations": self._parts.pod_identities.of(request["name"])}

    def delete_pod_identity_association(self, request: Document) -> Document:
        return {"association": self._parts.pod_identities.remove((request["name"], request["associationId"]))}


def _account(association: Document) -> tuple[str, str]:
    return association["namespace"], association["serviceAccount"]
