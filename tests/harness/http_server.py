"""Serves HTTP by a handler of the test's, on a thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

STOP_SECONDS: Final = 0.05
"""So often a server looks whether it is to stop: a stop takes that, or half a second by default."""


class QuietHandler(BaseHTTPRequestHandler):
    """Writes no log. A handler names BaseHTTPRequestHandler too, by which a linter knows its `do_GET`."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in the base class
        """Nothing."""

    def respond(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        """Answer the request."""
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def http_served(
    handler: type[BaseHTTPRequestHandler], address: str = "127.0.0.1", port: int = 0
) -> Iterator[str]:
    """Serve until the block ends; yields the URL. Port 0 takes a free one."""
    server = ThreadingHTTPServer((address, port), handler)
    thread = threading.Thread(target=server.serve_forever, args=(STOP_SECONDS,), daemon=True)
    thread.start()
    try:
        yield f"http://{address}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
