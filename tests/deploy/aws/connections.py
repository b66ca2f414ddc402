"""Connections to GitHub, which a person has to confirm."""

from uuid import uuid4

from tests.deploy.aws.documents import Documents, Place
from tests.deploy.aws.json_rpc import JsonService
from tests.deploy.aws.rest import Document, RefusedError

PENDING = "PENDING"
AVAILABLE = "AVAILABLE"


class Connections:
    """Connections of one account and region."""

    def __init__(self, place: Place, first_status: str) -> None:
        self._place = place
        self._first_status = first_status
        missing = RefusedError("ResourceNotFoundException", status=400)
        self.known = Documents("connection", missing=missing, exists="ConflictException")

    def service(self) -> JsonService:
        """The endpoint of the connections."""
        return JsonService("codestar-connections", [self], [self.known])

    def confirm(self) -> None:
        """Confirm the connections once, as a person does in the AWS console."""
        for each in self.known:
            each["ConnectionStatus"] = AVAILABLE

    def is_available(self, arn: str) -> bool:
        """Whether a connection has been confirmed."""
        return any(
            each["ConnectionArn"] == arn and each["ConnectionStatus"] == AVAILABLE for each in self.known
        )

    def create_connection(self, request: Document) -> Document:
        arn = self._place.arn("codestar-connections", f"connection/{uuid4()}")
        connection = {
            "ConnectionName": request["ConnectionName"],
            "ConnectionArn": arn,
            "ProviderType": request["ProviderType"],
            "OwnerAccountId": self._place.account,
            "ConnectionStatus": self._first_status,
            "Tags": request.get("Tags", []),
        }
        self.known.add((arn,), connection)
        return {"ConnectionArn": arn}

    def get_connection(self, request: Document) -> Document:
        found = self.known.get((request["ConnectionArn"],))
        return {"Connection": {name: value for name, value in found.items() if name != "Tags"}}

    def list_connections(self, request: Document) -> Document:
        return {"Connections": list(self.known)}

    def delete_connection(self, request: Document) -> Document:
        self.known.remove((request["ConnectionArn"],))
        return {}

    def list_tags_for_resource(self, request: Document) -> Document:
        return {"Tags": self.known.get((request["ResourceArn"],))["Tags"]}
