"""The whole application in this process, with parts in memory, and many concurrent requests."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

import httpx
from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter, Gauge

from pipelines.management.api.app import Parts, create_app
from pipelines.management.api.documents import Documents
from pipelines.management.api.observe_client import ObserveClient
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.audit import AuditLog, AuditRow
from pipelines.management.api.rights.callers import Caller
from pipelines.management.api.rights.rate_limits import RateLimits
from pipelines.management.api.rights.read_limits import ReadLimits
from shared.contracts.api_answers.access import Role
from shared.contracts.egress_policy import EgressPolicy

SECONDS: Final = 120.0
"""Seconds after which a missing event counts as a failure."""

NOW_MS: Final = 1_000_000
LARGE: Final = 1024 * 1024


class Bearers:
    """Knows bearers such as `owner@shop`, who has that role in that tenant; `operator@` has it everywhere."""

    signs_people_in = False

    @staticmethod
    def holder(bearer: str) -> str:
        return bearer

    @staticmethod
    def caller(holder: str, target: str | None) -> Caller:
        del target
        role, _, tenant = holder.partition("@")
        return Caller(id=holder, label=role, role=Role(role), tenant=tenant or None, expires_ms=None)


class Rows:
    """The audit log's rows by partition, in the order of their sort keys."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], AuditRow] = {}

    def put(self, partition: str, sort: str, row: AuditRow) -> None:
        self.kept[partition, sort] = row

    def page(
        self, partition: str, after: str | None, limit: int, *, forward: bool
    ) -> tuple[list[tuple[str, AuditRow]], None]:
        assert after is None and not forward
        found = sorted(sort for at, sort in self.kept if at == partition)
        return [(sort, self.kept[partition, sort]) for sort in found[::-1][:limit]], None


class Metrics:
    """The API's metrics, except those of live tails."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("requests", "x", ["method", "status"], registry=self.registry)
        self.ready = Gauge("ready", "x", registry=self.registry)


def documents_over(table: Any) -> Documents:
    """The routes' `Documents`, over a table."""
    nothing: Any = None
    return Documents(table, nothing, nothing, EgressPolicy(), lambda: NOW_MS)


def app_over(table: Any = None, **parts: Any) -> FastAPI:
    """The application over a table of documents; `parts` replace others of its parts."""
    bearers: Any = Bearers()
    unlimited = RateLimits(1_000_000.0, time.monotonic)
    nothing: Any = None
    rows: Any = parts.pop("rows", None) or Rows()
    given = {
        "documents": documents_over(table),
        "source_keys": nothing,
        "rollouts": nothing,
        "tokens": nothing,
        "members": nothing,
        "authentication": bearers,
        "access": Access(bearers, unlimited, unlimited),
        "audit": AuditLog(rows),
        "observe": ObserveClient(None),
        "sides": nothing,
        "dead_letters": nothing,
        "tails": nothing,
        "reads": ReadLimits(),
        "metrics": Metrics(),
        "answers": lambda: True,
        "clock": lambda: NOW_MS,
        "body_bytes": LARGE,
        "body_timeout": SECONDS,
        "bodies_bytes": 16 * LARGE,
    }
    return create_app(Parts(**(given | parts)))


class Client:
    """Requests to an application on the event loop of `played`."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def ask(
        self, method: str, path: str, bearer: str = "operator@", body: Any = None, **headers: str
    ) -> httpx.Response:
        """The answer to one request."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        sent = named | {"Authorization": f"Bearer {bearer}"}
        return await asyncio.wait_for(self._http.request(method, path, json=body, headers=sent), SECONDS)


def played(app: FastAPI, scene: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """Run a scene with clients of an application, all on one event loop."""

    async def play() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://api") as http:
            await scene(Client(http))

    asyncio.run(play())


async def comes(check: Callable[[], bool]) -> None:
    """Wait until a condition holds, while the event loop goes on."""
    async with asyncio.timeout(SECONDS):
        while not check():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.01)


class Gate:
    """Holds arrivals until it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._lock = threading.Lock()
        self.waiting = 0

    def wait(self) -> None:
        """Wait until it is open."""
        with self._lock:
            self.waiting += 1
        assert self._open.wait(SECONDS)

    def open(self) -> None:
        """Let all of them go on."""
        self._open.set()
