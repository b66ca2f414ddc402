"""EC2 answers a request that is repeated with its client token as before, and makes nothing twice."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from werkzeug.wrappers import Response

from tests.deploy.aws.calls import form
from tests.deploy.aws.permissions import ec2_error

_TOKEN = "ClientToken"


class Remembered:
    """A WSGI application before EC2's that remembers successful replies by action and client token.

    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
    """

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application = application
        self._replies: dict[tuple[str, str], tuple[Mapping[str, str], Response]] = {}

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        given = form(environ)
        token = given.get(_TOKEN)
        if token is None:
            return self._application(environ, start_response)
        return self._reply((given.get("Action", ""), token), given, environ)(environ, start_response)

    def _reply(self, key: tuple[str, str], given: Mapping[str, str], environ: Any) -> Response:
        if key in self._replies:
            before, reply = self._replies[key]
            return reply if before == given else _mismatch()
        reply = Response.from_app(self._application, environ, buffered=True)
        if reply.status_code < 400:
            self._replies[key] = given, reply
        return reply


def _mismatch() -> Response:
    return ec2_error(
        "IdempotentParameterMismatch", f"The {_TOKEN} was used before with other parameters of the request."
    )
