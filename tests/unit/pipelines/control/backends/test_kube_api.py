"""Requests to a side's Kubernetes API."""

import json
from http.server import BaseHTTPRequestHandler

from pipelines.control.backends.aws.kube_api import POD_HOST, KubeApi
from shared.runtime.known_hosts import is_known
from tests.harness.http_server import QuietHandler, http_served

_PROXIED = "/api/v1/namespaces/hifi/pods/observe-0:8080/proxy/v1/minutes"


def test_pods_behind_the_proxy_are_asked_by_a_name_that_they_know_as_the_clusters() -> None:
    """The proxy forwards the header Host; EKS's own name has dots and belongs to AWS."""
    asked: list[tuple[str, str]] = []

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.command, self.headers["Host"]))
            self.respond(200, json.dumps({"items": []}).encode())

        do_PUT = do_GET  # noqa: N815  # the name in the base class

    with http_served(Handler) as url:
        api = KubeApi(url, "", lambda: "token")
        api.content(_PROXIED)
        api.put(_PROXIED, "30")
        api.list("/api/v1/namespaces/hifi/pods", "app=hifi")
    assert is_known(POD_HOST, ())
    assert not is_known("id.gr7.eu-west-1.eks.amazonaws.com", ())
    assert asked == [("GET", POD_HOST), ("PUT", POD_HOST), ("GET", url.removeprefix("http://"))]
