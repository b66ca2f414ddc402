"""REST-JSON services: botocore's models tell which operation a request means."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote

from botocore import xform_name
from botocore.model import OperationModel
from botocore.session import Session
from werkzeug.wrappers import Request, Response

Document = dict[str, Any]
Operation = Callable[[Document], Document]


class RefusedError(Exception):
    """An error in AWS's form."""

    def __init__(self, code: str, message: str = "", status: int = 400) -> None:
        super().__init__(code, message, status)
        self.code = code
        self.message = message
        self.status = status


@dataclass(frozen=True)
class Route:
    """One operation: the requests that mean it, and its parameters that are lists."""

    name: str
    method: str
    path: re.Pattern[str]
    lists: frozenset[str]

    @classmethod
    def of(cls, operation: OperationModel) -> "Route":
        """Read the route from botocore's model of the operation."""
        path = operation.http["requestUri"].partition("?")[0]
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path))
        return cls(operation.name, operation.http["method"], re.compile(pattern), _query_lists(operation))


class Kind(Protocol):
    """A kind of resource that a service holds."""

    @property
    def kind(self) -> str:
        """Name of the kind."""

    def __len__(self) -> int:
        """Number of resources."""


class RestService:
    """A WSGI application: the operation `CreateCluster` is the method `create_cluster` of one of its parts.

    Requests and replies are documents with the names used on the wire.
    """

    def __init__(self, name: str, parts: Sequence[object], kinds: Sequence[Kind]) -> None:
        model = Session().get_service_model(name)
        self._name = name
        self._parts = parts
        self._kinds = kinds
        self._answered: dict[tuple[str, str], Document] = {}
        self._routes = [Route.of(model.operation_model(each)) for each in model.operation_names]

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        try:
            response = _response(200, self._answer(Request(environ)))
        except RefusedError as refusal:
            response = _response(refusal.status, {"__type": refusal.code, "message": refusal.message})
            response.headers["x-amzn-errortype"] = refusal.code
        return response(environ, start_response)

    def inventory(self) -> dict[str, int]:
        """Number of documents of each kind."""
        return {f"{self._name} {each.kind}": len(each) for each in self._kinds if len(each)}

    def _answer(self, request: Request) -> Document:
        # The decoded path no longer tells a slash within an ARN from one between two names.
        path = str(request.environ["REQUEST_URI"]).partition("?")[0]
        for route in self._routes:
            if route.method == request.method and (match := route.path.fullmatch(path)):
                return self._once(route.name, _parameters(route, match.groupdict(), request))
        raise RefusedError("UnknownOperationException", f"{self._name}: {request.method} {path}", 404)

    def _once(self, name: str, request: Document) -> Document:
        """A client that lost the answer repeats its token, and must get the same answer."""
        token = request.pop("clientRequestToken", None)
        if token is None:
            return self._operation(name)(request)
        if (name, token) not in self._answered:
            self._answered[name, token] = self._operation(name)(request)
        return self._answered[name, token]

    def _operation(self, name: str) -> Operation:
        for part in self._parts:
            operation: Operation | None = getattr(part, xform_name(name), None)
            if operation is not None:
                return operation
        raise RefusedError(
            "NotImplemented", f"The local {self._name} has no {name}: add it to its parts", 501
        )


def _response(status: int, document: Document) -> Response:
    return Response(json.dumps(document), status, content_type="application/json")


def _query_lists(operation: OperationModel) -> frozenset[str]:
    shape = operation.input_shape
    members = shape.members.values() if shape else ()
    return frozenset(
        each.serialization["name"]
        for each in members
        if each.serialization.get("location") == "querystring" and each.type_name == "list"
    )


def _parameters(route: Route, named: Mapping[str, str], request: Request) -> Document:
    query = {
        name: request.args.getlist(name) if name in route.lists else value
        for name, value in request.args.items()
    }
    body = json.loads(request.get_data() or b"{}")
    return {**query, **body, **{name: unquote(value) for name, value in named.items()}}
