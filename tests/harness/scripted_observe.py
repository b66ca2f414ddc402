"""An observe that says what a test wants, over HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import msgspec

from shared.contracts.diamond.stability import Stability
from shared.contracts.scorecard import PipeCard


class ScriptedObserve:
    """The same figures for every pipe and time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.events = self.good = self.dead = 0
        self.reasons: list[str] = []
        self.silent = False

    def say(self, events: int, good: int | None = None, dead: int = 0) -> None:
        """From now on."""
        self.events, self.good, self.dead = events, events if good is None else good, dead

    def answer(self, path: str) -> object | None:
        """What GET of a path answers, beside figures what is asked; None is an error."""
        parts = urlsplit(path)
        if self.silent:
            return None
        if parts.path == "/v1/stability":
            return Stability(stable=not self.reasons, reasons=self.reasons)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if not parts.path.startswith("/v1/pipes/"):
            return {"path": parts.path, "tenant": query.get("tenant")}
        return PipeCard(
            tenant=query["tenant"],
            pipe=parts.path.rpartition("/")[2],
            first=int(query["from"]),
            last=int(query["from"]) + 1,
            events=self.events,
            good=self.good,
            dead=self.dead,
        )


@contextmanager
def scripted_observe() -> Iterator[ScriptedObserve]:
    """Serve one until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = observe.answer(self.path)
            body = b"{}" if found is None else msgspec.json.encode(found)
            self.send_response(503 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in the base class
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    observe = ScriptedObserve(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield observe
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
