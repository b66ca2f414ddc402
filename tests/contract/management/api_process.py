"""The management API as a process, and a client of it."""

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from tests.harness.api_description import kept
from tests.harness.service_process import Answer, ServiceProcess, hifi_settings
from tests.harness.waiting import eventually

ANY = {"If-Match": "*"}
NEW = {"If-None-Match": "*"}
_DESCRIPTION = kept()
START_SECONDS = 120
"""Seconds until it is ready on a busy machine."""


class ApiProcess(ServiceProcess):
    """`python -m pipelines.management.api` over a table of its own, with its operator's token."""

    program = "pipelines.management.api.__main__"
    times: ClassVar[Mapping[str, float]] = {"pipelines.management.api.tail_stream.CHECK_SECONDS": 0.3}

    def __init__(self, folder: Path, endpoint: str, table: str = "", **settings: str) -> None:
        self.table = table or f"documents-{uuid.uuid4().hex}"
        self.endpoint = endpoint
        self.token_file = folder / "operator.token"
        own = {
            "documents_table": self.table,
            "documents_endpoint": endpoint,
            "token_file": str(self.token_file),
            "token_rate": "100000",
            "tenant_rate": "100000",
        }
        super().__init__(folder / "api.log", hifi_settings(own | settings))
        try:
            eventually(self.ready, START_SECONDS, "the API is ready")
        except AssertionError:
            self.kill()  # the caller has no object to kill the process with
            raise
        self.operator = self.token_file.read_text().strip()

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        token: str | None = "",
    ) -> Answer:
        """Send JSON with a token: by default the operator's, with None no token.

        The answer must match the description.
        """
        asked = dict(headers or {})
        if token is not None:
            asked["Authorization"] = f"Bearer {token or self.operator}"
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        answer = self.request(method, path, sent, asked)
        if "json" in answer.headers.get("content-type", ""):
            _DESCRIPTION.check(method, path, answer.status, answer.json)
        return answer

    def token(self, tenant: str, role: str, **more: Any) -> str:
        """A new token of a tenant."""
        asked = {"role": role, "label": role} | more
        answer = self.ask("POST", f"/v1/tenants/{tenant}/tokens", asked)
        assert answer.status == 201, answer.text
        return str(answer.json["token"])


def destination(timeout: float = 5.0) -> dict[str, Any]:
    """A destination's fields beside its name."""
    return {"options": {"url": "https://example.com/hook"}, "timeout_seconds": timeout}


@contextmanager
def running_api(
    folder: Path, endpoint: str, kind: type[ApiProcess] = ApiProcess, **settings: str
) -> Iterator[ApiProcess]:
    """An API that is ready, until the block ends."""
    process = kind(folder, endpoint, **settings)
    try:
        yield process
    finally:
        process.kill()
