"""JSON-RPC services: the header `X-Amz-Target` names the operation."""

import json

from werkzeug.wrappers import Request

from tests.deploy.aws.rest import Document, RestService


class JsonService(RestService):
    """A WSGI application like `RestService`, for services of the JSON protocol."""

    def _answer(self, request: Request) -> Document:
        name = request.headers["X-Amz-Target"].rpartition(".")[2]
        return self._once(name, json.loads(request.get_data() or b"{}"))
