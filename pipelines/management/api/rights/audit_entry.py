"""The audit log's entry for one request, kept once, however the request ends."""

import threading
from http import HTTPStatus
from typing import Final

from fastapi import Request
from starlette.types import Scope

from pipelines.management.api.rights.audit import AuditLog, row_of
from pipelines.management.api.rights.callers import Caller
from shared.runtime.clock import Clock

WRITES: Final = frozenset({"PUT", "POST", "DELETE", "PATCH"})
_CUT_OFF: Final = "the process stopped before the answer; it may have been done"


class AuditEntry:
    """The entry of one request. Routes set the caller, a detail and `dry_run` in the request's state."""

    def __init__(self, log: AuditLog, clock: Clock, scope: Scope) -> None:
        self._log, self._clock, self._scope = log, clock, scope
        self._lock = threading.Lock()
        self._kept = False

    @property
    def method(self) -> str:
        """The request's method."""
        return str(self._scope["method"])

    @property
    def is_write(self) -> bool:
        """Whether it is one that wants to write."""
        if self._scope["type"] != "http" or self.method not in WRITES:
            return False
        return not getattr(Request(self._scope).state, "dry_run", False)

    def keep(self, status: int) -> None:
        """Keep a write or a refused one; blocks.

        A request without a token only gets a log line; otherwise such callers could fill the table.
        """
        if self._is_first():
            self._keep(status, getattr(Request(self._scope).state, "detail", ""))

    def keep_cut_off(self) -> None:
        """Keep a write that is not answered because the process stops; does not block.

        On a thread that the end of the process waits for, as it does for the write's own.
        """
        if self.is_write:
            threading.Thread(target=self._keep_once_cut_off, name="audit").start()

    def _keep_once_cut_off(self) -> None:
        if self._is_first():
            self._keep(HTTPStatus.SERVICE_UNAVAILABLE, _CUT_OFF)

    def _is_first(self) -> bool:
        """Whether this is the first attempt: a row under way when the process stops is not written twice."""
        with self._lock:
            first, self._kept = not self._kept, True
            return first

    def _keep(self, status: int, detail: str) -> None:
        request, at_ms = Request(self._scope), self._clock()
        caller: Caller | None = getattr(request.state, "caller", None)
        if caller is None:
            self._log.without_token(request.method, status, at_ms)
            return
        row = row_of(caller, request.method, request.url.path, status=status, at_ms=at_ms, detail=detail)
        wrong = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        refused = wrong or getattr(request.state, "not_begun", False)
        keep = self._log.refused if refused else self._log.record
        keep(caller, request.path_params.get("tenant"), row)
