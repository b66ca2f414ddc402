"""An observe that says what a test wants, over HTTP."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import msgspec

from shared.contracts.diamond.stability import Stability
from shared.contracts.scorecard import PipeCard
from tests.harness.http_server import QuietHandler, http_served


@dataclass(frozen=True)
class Figures:
    """Counts of a pipe's events."""

    events: int = 0
    good: int = 0
    dead: int = 0


class ScriptedObserve:
    """The same figures for every pipe and time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.figures: Callable[[], Figures] = Figures
        """Called at each request for a pipe."""

        self.replies: Mapping[str, object] = {}
        """Replies by the pattern of a path; a path that matches none is echoed."""

        self.reasons: list[str] = []
        self.silent = False

    def say(self, events: int, good: int | None = None, dead: int = 0) -> None:
        """Answer these figures from now on."""
        found = Figures(events, events if good is None else good, dead)
        self.figures = lambda: found

    def answer(self, path: str) -> object | None:
        """The answer to GET `path`: stability, a pipe's figures, or else what is asked; None is an error."""
        parts = urlsplit(path)
        if self.silent:
            return None
        if parts.path == "/v1/stability":
            return Stability(stable=not self.reasons, reasons=self.reasons)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        for pattern, reply in self.replies.items():
            if fnmatchcase(parts.path, pattern):
                return reply
        if not parts.path.startswith("/v1/pipes/"):
            return {"path": parts.path, "tenant": query.get("tenant")}
        found = self.figures()
        return PipeCard(
            tenant=query["tenant"],
            pipe=parts.path.rpartition("/")[2],
            first=int(query["from"]),
            last=int(query["from"]) + 1,
            events=found.events,
            good=found.good,
            dead=found.dead,
        )


@contextmanager
def scripted_observe(port: int = 0) -> Iterator[ScriptedObserve]:
    """Serve one until the block ends. Port 0 takes a free one."""

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = observe.answer(self.path)
            body = b"{}" if found is None else msgspec.json.encode(found)
            self.respond(503 if found is None else 200, body)

    with http_served(Handler, port=port) as url:
        observe = ScriptedObserve(url)
        yield observe
