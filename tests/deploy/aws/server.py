"""The local AWS on one port: a request goes to the service named in its signature."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, Thread
from typing import Any

import boto3
from moto.ec2.models import ec2_backends
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import BaseWSGIServer, make_server
from werkzeug.wrappers import Response

from tests.deploy.aws import eks, kafka
from tests.deploy.aws.calls import Call, UnknownCallError, read_call
from tests.deploy.aws.codebuild import Projects
from tests.deploy.aws.connections import PENDING, Connections
from tests.deploy.aws.documents import Place
from tests.deploy.aws.eks.api import KubernetesApi
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.gaps import fill_gaps
from tests.deploy.aws.idempotency import Remembered
from tests.deploy.aws.inventory import inventory
from tests.deploy.aws.permissions import action_of, allowed_patterns, ec2_error, may, refusal
from tests.deploy.aws.quotas import Quotas
from tests.harness.http_server import STOP_SECONDS

# LocalStack's account id, so that a stack finds the same names in either.
LOCAL = Place(account="000000000000", region="eu-west-1")
_ADDRESSES = "L-0263D0A3"
CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


class QuietHandler(MotoRequestHandler):
    """moto's handler, without a line for each of Terraform's thousands of requests."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write nothing."""


class LocalAws:
    """A WSGI application: MSK, EKS, CodeBuild and connections from here, all else from moto."""

    def __init__(self, place: Place, *, first_connection_status: str = PENDING) -> None:
        self.place = place
        self.quotas = Quotas()
        self.connections = Connections(place, first_connection_status)
        self.endpoint = ""
        self.calls: set[Call] = set()
        # Names of roles by their access keys. Any other key is an administrator's.
        self.roles: dict[str, str] = {}
        fill_gaps()
        parts = Parts()
        self.kubernetes = KubernetesApi(place, parts)
        self._moto = Remembered(DomainDispatcherApplication(create_backend_app))
        self._turn = Lock()
        self._own = {
            "kafka": kafka.service(place),
            "codebuild": Projects(place, self.connections).service(),
            "codestar-connections": self.connections.service(),
            "servicequotas": self.quotas.service(),
            "eks": eks.service(place, parts, self.quotas, cache(lambda: self.client("autoscaling"))),
        }

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        # moto's own header: the account is otherwise fixed when moto is imported.
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = self.place.account
        try:
            reply: Iterable[bytes] = self._answer(environ)(environ, start_response)
        except (NotImplementedError, UnknownCallError) as gap:
            # Otherwise Terraform would repeat a broken request for minutes.
            return Response(str(gap), 501)(environ, start_response)
        return reply

    def _answer(self, environ: Any) -> Any:
        """The application for a request."""
        call = read_call(environ)
        if call is None:
            return self._moto_in_turn
        self.calls.add(call)
        return self._refusal(call) or self._own.get(call.service, self._moto_in_turn)

    def _moto_in_turn(self, environ: Any, start_response: Any) -> Any:
        """moto, one request at a time: it has no locks, and of two tags added at once it keeps one."""
        with self._turn:
            return self._moto(environ, start_response)

    def _refusal(self, call: Call) -> Response | None:
        role = self.roles.get(call.key)
        if role and not may(allowed_patterns(self.place, role), action_of(call)):
            return refusal(call, role)
        if call.operation == "AllocateAddress":
            addresses = len(ec2_backends[self.place.account][self.place.region].addresses)
            if addresses >= self.quotas.value(_ADDRESSES):
                return ec2_error("AddressLimitExceeded", "The maximum number of addresses has been reached.")
        return None

    def inventory(self) -> Counter[str]:
        """Number of resources of each kind, in all services."""
        own = (counts for service in self._own.values() for counts in service.inventory().items())
        return inventory(own)

    def client(self, service: str) -> Any:
        """A boto3 client of this endpoint."""
        return boto3.client(service, endpoint_url=self.endpoint, region_name=self.place.region, **CREDENTIALS)


def bind(aws: LocalAws, port: int) -> BaseWSGIServer:
    """Bind the loopback address at `port` (0: a free one) and set the endpoint of `aws`."""
    server = make_server("127.0.0.1", port, aws, threaded=True, request_handler=QuietHandler)
    aws.endpoint = f"http://127.0.0.1:{server.server_port}"
    return server


@contextmanager
def serving(place: Place = LOCAL, *, port: int = 0) -> Iterator[LocalAws]:
    """Serve in a thread of this process, so that a test can inspect the services."""
    aws = LocalAws(place)
    server = bind(aws, port)
    thread = Thread(target=server.serve_forever, args=(STOP_SECONDS,), daemon=True)
    thread.start()
    try:
        yield aws
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
