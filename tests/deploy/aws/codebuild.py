"""CodeBuild's projects and their webhooks."""

from tests.deploy.aws.connections import Connections
from tests.deploy.aws.documents import Documents, Place, stamp
from tests.deploy.aws.json_rpc import JsonService
from tests.deploy.aws.rest import Document, RefusedError

DEFAULTS: Document = {
    "badgeEnabled": False,
    "queuedTimeoutInMinutes": 480,
    "projectVisibility": "PRIVATE",
    "encryptionKey": "alias/aws/s3",
    "cache": {"type": "NO_CACHE"},
}


class Projects:
    """Projects of one account and region."""

    def __init__(self, place: Place, connections: Connections) -> None:
        self._place = place
        self._connections = connections
        missing = RefusedError("ResourceNotFoundException", status=400)
        self.known = Documents("project", missing=missing, exists="ResourceAlreadyExistsException")

    def service(self) -> JsonService:
        """The endpoint of CodeBuild."""
        return JsonService("codebuild", [self], [self.known])

    def create_project(self, request: Document) -> Document:
        """Refuses a VPC without subnets of its own, as CodeBuild does."""
        name = request["name"]
        network = request.get("vpcConfig") or {}
        found = self._place.subnets(network.get("subnets", []))
        if {each.vpc_id for each in found} != {network.get("vpcId")}:
            raise RefusedError("InvalidInputException", f"The subnets of {name} are not of its VPC")
        project = {
            **DEFAULTS,
            "tags": [],
            **request,
            "arn": self._place.arn("codebuild", f"project/{name}"),
            "created": stamp(),
            "lastModified": stamp(),
        }
        return {"project": self.known.add((name,), project)}

    def batch_get_projects(self, request: Document) -> Document:
        wanted = {each.rpartition("/")[2] for each in request["names"]}
        return {"projects": [each for each in self.known if each["name"] in wanted]}

    def update_project(self, request: Document) -> Document:
        project = self.known.get((request["name"],))
        project.update(request)
        return {"project": project}

    def delete_project(self, request: Document) -> Document:
        self.known.remove((request["name"].rpartition("/")[2],))
        return {}

    def create_webhook(self, request: Document) -> Document:
        """Refuses until the connection to GitHub is confirmed, as CodeBuild does."""
        project = self.known.get((request["projectName"],))
        if not self._connections.is_available(project["source"]["auth"]["resource"]):
            raise RefusedError(
                "OAuthProviderException", "The connection is pending: confirm it in the console", 400
            )
        webhook = {
            "url": f"https://codebuild.{self._place.region}.amazonaws.com/webhooks",
            "payloadUrl": "https://codebuild.example/webhooks",
            "filterGroups": request.get("filterGroups", []),
        }
        project["webhook"] = webhook
        return {"webhook": webhook}

    def delete_webhook(self, request: Document) -> Document:
        self.known.get((request["projectName"],)).pop("webhook", None)
        return {}
