"""A proxy before a simulated S3 that delays each request, as S3 itself would, and counts them by verb."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

_HOST: Final = "127.0.0.1"
_NOT_FORWARDED: Final = {"connection", "transfer-encoding", "keep-alive"}
_COPY: Final = "x-amz-copy-source"
_TIMEOUT_SECONDS: Final = 60
_LOOK_SECONDS: Final = 0.02
"""How long the end of a block waits for the server to end."""


class SlowS3:
    """The running proxy: its URL, and how many requests of each kind it has forwarded."""

    def __init__(self, port: int) -> None:
        self.url = f"http://{_HOST}:{port}"
        self.refuses: Callable[[str, str], bool] = lambda kind, path: False  # noqa: ARG005 -- the signature
        """Whether to answer a request, by kind and path, with 403."""

        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, kind: str) -> None:
        """Count a request."""
        with self._lock:
            self._counts[kind] += 1

    def counts(self) -> Counter[str]:
        """Requests by kind so far."""
        with self._lock:
            return Counter(self._counts)


def kind_of(method: str, path: str, headers: Mapping[str, str]) -> str:
    """The kind of a request as S3's price list knows it: LIST and COPY have methods that others share."""
    if method == "PUT" and _COPY in headers:
        return "COPY"
    if method == "GET" and "list-type=" in path:
        return "LIST"
    return method


@contextmanager
def slow_s3(backend_port: int, delay_seconds: float) -> Iterator[SlowS3]:
    """Run the proxy before a server on this machine until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            self._backend = HTTPConnection(_HOST, backend_port, timeout=_TIMEOUT_SECONDS)

        def finish(self) -> None:
            self._backend.close()
            super().finish()

        def _forward(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            kind = kind_of(self.command, self.path, headers)
            proxy.count(kind)
            body = self.rfile.read(int(headers.get("content-length", 0)))
            time.sleep(delay_seconds)
            if proxy.refuses(kind, self.path):
                self.send_response_only(HTTPStatus.FORBIDDEN)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            kept = {name: value for name, value in headers.items() if name not in {"connection", "expect"}}
            self._backend.request(self.command, self.path, body=body, headers=kept)
            reply = self._backend.getresponse()
            content = reply.read()
            self.send_response_only(reply.status, reply.reason)
            for name, value in reply.getheaders():
                if name.lower() not in _NOT_FORWARDED | ({"content-length"} if content else set()):
                    self.send_header(name, value)
            if content:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _forward  # noqa: N815 -- the base class names them

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class names it
            """The counts are enough."""

    server = ThreadingHTTPServer((_HOST, 0), Handler)
    server.daemon_threads = True
    proxy = SlowS3(server.server_address[1])
    threading.Thread(target=server.serve_forever, args=(_LOOK_SECONDS,), name="slow-s3", daemon=True).start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
