"""A receiver of alarms on a real socket, which records requests and answers as a test says."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.harness.http_server import QuietHandler, http_served


class Far:
    """The requests so far, and the status of its responses."""

    def __init__(self) -> None:
        self.status = 204
        self.headers: dict[str, str] = {}
        self.hang = threading.Event()
        self.hang.set()
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.url = ""

    def notices(self) -> list[tuple[str, str]]:
        """Type and alarm id of each request, in order."""
        bodies = [json.loads(body) for _, _, body in list(self.requests)]
        return [(body["type"].rpartition(".")[2], body["data"]["id"]) for body in bodies]


@contextmanager
def far() -> Iterator[Far]:
    """Run a receiver until the block ends."""
    found = Far()

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found.requests.append((self.path, headers, body))
            found.hang.wait(120)
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with http_served(Handler) as found.url:
        try:
            yield found
        finally:
            found.hang.set()
