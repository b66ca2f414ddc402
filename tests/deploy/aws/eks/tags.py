"""Tags of everything in EKS."""

from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.rest import Document, RefusedError

ARN_NAMES = ("arn", "nodegroupArn", "accessEntryArn", "addonArn", "associationArn")


class Tags:
    """Tags, found by ARN."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def list_tags_for_resource(self, request: Document) -> Document:
        return {"tags": self._of(request["resourceArn"])}

    def tag_resource(self, request: Document) -> Document:
        self._of(request["resourceArn"]).update(request["tags"])
        return {}

    def untag_resource(self, request: Document) -> Document:
        for key in request["tagKeys"]:
            self._of(request["resourceArn"]).pop(key, None)
        return {}

    def _of(self, arn: str) -> dict[str, str]:
        for document in (each for documents in self._parts for each in documents):
            if arn in (document.get(name) for name in ARN_NAMES):
                tags: dict[str, str] = document["tags"]
                return tags
        raise RefusedError("NotFoundException", f"{arn} does not exist", 404)
