"""MSK's configurations and their revisions."""

from uuid import uuid4

from tests.deploy.aws.documents import Documents, Place, iso_stamp
from tests.deploy.aws.rest import Document, RefusedError


class Configurations:
    """Configurations, ACTIVE at once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        # MSK answers 400, not 404, for a missing configuration: the provider recognises these words.
        gone = RefusedError("BadRequestException", "Configuration ARN does not exist.")
        self.known = Documents("configuration", missing=gone, exists="ConflictException")
        self._used_by: dict[str, str] = {}

    def create_configuration(self, request: Document) -> Document:
        """Refuses an existing name, as MSK does: a replacement needs another name."""
        if any(each["name"] == request["name"] for each in self.known):
            raise RefusedError("ConflictException", f"A configuration named {request['name']} exists", 409)
        arn = self._place.arn("kafka", f"configuration/{request['name']}/{uuid4()}-1")
        revision = _revision(1, request)
        document = {
            "arn": arn,
            "name": request["name"],
            "state": "ACTIVE",
            "creationTime": iso_stamp(),
            "description": request.get("description", ""),
            "kafkaVersions": request.get("kafkaVersions", []),
            "latestRevision": revision,
            "revisions": [{**revision, "arn": arn, "serverProperties": request["serverProperties"]}],
        }
        self.known.add((arn,), document)
        return _brief(document)

    def update_configuration(self, request: Document) -> Document:
        document = self.known.get((request["arn"],))
        revision = _revision(document["latestRevision"]["revision"] + 1, request)
        document["latestRevision"] = revision
        properties = request["serverProperties"]
        document["revisions"].append({**revision, "arn": request["arn"], "serverProperties": properties})
        return _brief(document)

    def describe_configuration(self, request: Document) -> Document:
        return _brief(self.known.get((request["arn"],)))

    def describe_configuration_revision(self, request: Document) -> Document:
        return self.revision(request["arn"], int(request["revision"]))

    def delete_configuration(self, request: Document) -> Document:
        """Refuses while a cluster uses it, as MSK does."""
        if request["arn"] in self._used_by.values():
            raise RefusedError("BadRequestException", f"{request['arn']} is in use by a cluster")
        self.known.remove((request["arn"],))
        return {"arn": request["arn"], "state": "DELETING"}

    def revision(self, arn: str, number: int) -> Document:
        """One revision; refuses an unknown one."""
        revisions: list[Document] = self.known.get((arn,))["revisions"]
        if not 1 <= number <= len(revisions):
            raise RefusedError("BadRequestException", f"{arn} has no revision {number}")
        return revisions[number - 1]

    def use(self, cluster: str, arn: str) -> None:
        """Record that a cluster uses a configuration."""
        self._used_by[cluster] = arn

    def release(self, cluster: str) -> None:
        """Record that a cluster is gone."""
        self._used_by.pop(cluster, None)


def _revision(number: int, request: Document) -> Document:
    return {"revision": number, "creationTime": iso_stamp(), "description": request.get("description", "")}


def _brief(document: Document) -> Document:
    return {key: value for key, value in document.items() if key != "revisions"}
