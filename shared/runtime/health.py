"""Serves `/healthz`, `/readyz` and `/metrics` on a thread, for processes without another HTTP server."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPMessage, LineTooLong
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from shared.runtime.logging import get_logger

Report = Callable[[], Mapping[str, bool]]
"""The conditions of readiness by name; the process is ready when all hold."""

_JSON: Final = "application/json"
_REQUEST_SECONDS: Final = 5.0
_STOP_SECONDS: Final = 0.1
"""Time between two checks whether to stop; a process waits for one at its end."""

_MAX_HEAD_BYTES: Final = 64 * 1024

_log = get_logger(__name__)


@contextmanager
def health_served(host: str, port: int, report: Report, registry: CollectorRegistry) -> Iterator[int]:
    """Serve until the block ends; yields the port.

    Raises:
        OSError: if the port is taken.
    """

    class Handler(_Handler):
        timeout = _REQUEST_SECONDS  # timeout of an idle connection

        def answer(self) -> tuple[HTTPStatus, str, bytes]:
            return health_answer(self.path, report, registry)

    with _Server((host, port), Handler) as server:
        thread = threading.Thread(
            target=server.serve_forever, args=(_STOP_SECONDS,), name="health", daemon=True
        )
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Called by socketserver inside `except`; by default it prints lines that are not JSON."""
        if isinstance(sys.exception(), ConnectionError):
            _log.debug("a client of the health endpoint went away")
        else:
            _log.exception("a request to the health endpoint failed")


class _BoundedHead:
    """A connection's input with a limit on the size of each request's head."""

    def __init__(self, source: BufferedIOBase) -> None:
        self._source = source
        self._left = 0

    def begin(self) -> None:
        """Reset the limit for a new request."""
        self._left = _MAX_HEAD_BYTES

    def readline(self, limit: int = -1) -> bytes:
        """Read a line.

        Raises:
            LineTooLong: if the head exceeds the limit.
        """
        line = self._source.readline(limit)
        self._left -= len(line)
        if self._left < 0:
            raise LineTooLong("head")
        return line

    def close(self) -> None:
        """Close the connection's input."""
        self._source.close()


class _Headers(HTTPMessage):
    def get_content_type(self) -> str:
        """Called by the parser, which would look for parts of a mail; that may fail, or take a second."""
        return self.get_default_type()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    MessageClass = _Headers

    def setup(self) -> None:
        """Called by http.server."""
        super().setup()
        self.rfile = self._head = _BoundedHead(self.rfile)  # type: ignore[assignment]

    def handle_one_request(self) -> None:
        """Called by http.server, which answers 431 after LineTooLong in headers."""
        self._head.begin()
        super().handle_one_request()

    def answer(self) -> tuple[HTTPStatus, str, bytes]:
        """Status, content type and body of the reply to this request."""
        raise NotImplementedError

    def do_GET(self) -> None:
        """Called by http.server."""
        status, content_type, body = self.answer()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - named by the library as well

    def log_message(self, *_: object) -> None:
        """Nothing: health checks come every few seconds."""


def health_answer(path: str, report: Report, registry: CollectorRegistry) -> tuple[HTTPStatus, str, bytes]:
    """Status, content type and body of the reply to a GET, for processes with their own HTTP server."""
    if path == "/healthz":
        return HTTPStatus.OK, _JSON, b'{"alive":true}'
    if path == "/metrics":
        return HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(registry)
    if path == "/readyz":
        found = report()
        ready = all(found.values())
        body = json.dumps({"ready": ready, **found}).encode()
        return HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE, _JSON, body
    return HTTPStatus.NOT_FOUND, _JSON, b'{"error":"there is nothing here"}'
