"""A management API with writes that wait until the test releases them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Final

from tests.contract.management.api_process import ApiProcess
from tests.harness.http_server import QuietHandler, http_served

_PASSED_ON: Final = ("Authorization", "Content-Type", "If-Match", "If-None-Match")


class HeldApi:
    """A proxy before the API: passes everything on, and a PUT once it is permitted."""

    def __init__(self, url: str, may_write: threading.Event, writes: list[str]) -> None:
        self.url, self._may_write, self.writes = url, may_write, writes

    def hold(self) -> None:
        """Let writes wait."""
        self._may_write.clear()

    def let_go(self) -> None:
        """Pass writes on, including those that wait."""
        self._may_write.set()


@contextmanager
def held_before(api: ApiProcess) -> Iterator[HeldApi]:
    """Serve until the block ends."""
    may_write, writes = threading.Event(), list[str]()
    may_write.set()

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name: self.headers[name] for name in _PASSED_ON if name in self.headers}
            answer = api.request(self.command, self.path, body or None, headers)
            self.respond(answer.status, answer.text.encode())

        def do_PUT(self) -> None:
            writes.append(self.path)
            may_write.wait()
            self.do_GET()

        def do_POST(self) -> None:
            self.do_GET()

    with http_served(Handler) as url:
        try:
            yield HeldApi(url, may_write, writes)
        finally:
            may_write.set()
