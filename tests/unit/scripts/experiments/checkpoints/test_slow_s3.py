"""The proxy before a simulated S3 delays, counts and refuses requests, and changes nothing else."""

import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

import pytest

from scripts.experiments.checkpoints.slow_s3 import kind_of, slow_s3
from tests.harness.http_server import QuietHandler, http_served
from tests.harness.service_process import request


@pytest.fixture
def backend() -> Iterator[int]:
    """A server that echoes requests; returns its port."""

    class Echo(QuietHandler, BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(HTTPStatus.OK)
            self.send_header("ETag", '"1"')
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Length", "17")
            self.end_headers()

    with http_served(Echo) as url:
        yield int(url.rpartition(":")[2])


@pytest.mark.parametrize(
    ("method", "path", "headers", "kind"),
    [
        ("PUT", "/b/k", {}, "PUT"),
        ("PUT", "/b/k", {"x-amz-copy-source": "b/other"}, "COPY"),
        ("GET", "/b?list-type=2&prefix=k", {}, "LIST"),
        ("GET", "/b/k", {}, "GET"),
        ("HEAD", "/b/k", {}, "HEAD"),
    ],
)
def test_a_request_has_the_kind_of_s3s_price_list(
    method: str, path: str, headers: dict[str, str], kind: str
) -> None:
    assert kind_of(method, path, headers) == kind


def test_requests_arrive_whole_later_and_are_counted(backend: int) -> None:
    with slow_s3(backend, 0.1) as proxy:
        port = int(proxy.url.rpartition(":")[2])
        began = time.monotonic()
        answer = request(port, "PUT", "/b/k", b"body")
        assert time.monotonic() - began >= 0.1
        assert (answer.status, answer.text, answer.headers["ETag"]) == (HTTPStatus.OK, "body", '"1"')
        assert request(port, "HEAD", "/b/k").headers["Content-Length"] == "17"
        assert proxy.counts() == {"PUT": 1, "HEAD": 1}


def test_what_is_to_be_refused_does_not_reach_the_store(backend: int) -> None:
    with slow_s3(backend, 0.0) as proxy:
        port = int(proxy.url.rpartition(":")[2])
        proxy.refuses = lambda kind, path: kind == "PUT" and "/offsets/" in path
        assert request(port, "PUT", "/b/offsets/1", b"x").status == HTTPStatus.FORBIDDEN
        assert request(port, "PUT", "/b/commits/1", b"x").status == HTTPStatus.OK
