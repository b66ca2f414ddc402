"""The webhook connector keeps every connector's promises, in each format and with each authentication."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs

import pytest

from tests.contract.connectors.conformance import Conformance
from tests.contract.connectors.far import Far
from tests.contract.connectors.http_far import ServerFar
from tests.harness.scripted_server import reply

KEY = base64.b64encode(b"k" * 24).decode()
OLD_KEY = base64.b64encode(b"o" * 24).decode()


class Endpoint(ServerFar):
    """An HTTP server that accepts CloudEvents batches as a whole."""

    connector = "webhook"
    largest: ClassVar[int | None] = 200_000
    more: ClassVar[Mapping[str, Any]] = {}
    """Options beside the URL."""

    def __init__(self) -> None:
        super().__init__()
        self._server.manners |= {"/": self._answer, "/token": self._grant}
        self._received: list[str] = []
        self._requests = 0

    async def _answer(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        self._requests += 1
        headers = self.headers()
        ids = self.ids(body)
        if not self.trusts(headers, body):
            writer.write(reply(401))
        elif self._losing:
            self._losing = False
            self._received += ids
            writer.transport.abort()
        else:
            status = self._status(body, set(ids))
            if status == 200:
                self._received += ids
            writer.write(reply(status))

    async def _grant(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        form = parse_qs(body.decode())
        good = form["client_secret"] == ["client-secret"] and form["grant_type"] == ["client_credentials"]
        token = json.dumps({"access_token": "token-1", "token_type": "Bearer", "expires_in": 3600})
        writer.write(reply(200, body=token) if good else reply(401))

    def _status(self, body: bytes, ids: set[str]) -> int:
        if self._throttled:
            return 429
        if len(body) > (self.largest or 0):
            return 413
        if ids & self._refused:
            return 400
        if ids & self._failing:
            self._failing -= ids
            return 503
        return 200

    def headers(self) -> dict[str, str]:
        """Headers of the current request."""
        lines = self._server.heads[-1].decode().split("\r\n")[1:]
        return {name.lower(): text for name, _, text in (line.partition(": ") for line in lines)}

    def ids(self, body: bytes) -> list[str]:
        """Ids of the events in a body."""
        return [item["id"] for item in json.loads(body)]

    def trusts(self, headers: Mapping[str, str], body: bytes) -> bool:
        """Whether a request is from hifi."""
        return True

    def options(self, port: int | None = None) -> dict[str, Any]:
        more = json.loads(json.dumps(self.more).replace("PORT", str(self._server.port)))
        return {"url": f"http://127.0.0.1:{port or self._server.port}/", **more}

    def received(self) -> list[str]:
        return list(self._received)

    def requests(self) -> int:
        return self._requests


class Single(Endpoint):
    """Accepts one event per request, authenticated by a bearer token."""

    per_event = alone = True
    secrets: ClassVar[Mapping[str, str]] = {"secret://t/bearer": "bearer-value"}
    more: ClassVar[Mapping[str, Any]] = {
        "format": "event",
        "auth": {"type": "bearer", "token": "secret://t/bearer"},
    }

    def ids(self, body: bytes) -> list[str]:
        return [json.loads(body)["id"]]

    def trusts(self, headers: Mapping[str, str], body: bytes) -> bool:
        return headers["authorization"] == "Bearer bearer-value"


class Lines(Endpoint):
    """Accepts NDJSON, authenticated by a password and a custom header."""

    secrets: ClassVar[Mapping[str, str]] = {
        "secret://t/password": "p\u00e4ss:word",
        "secret://t/key": "api-key",
    }
    more: ClassVar[Mapping[str, Any]] = {
        "format": "ndjson",
        "headers": {"X-Api-Key": "secret://t/key", "X-Team": "blue"},
        "auth": {"type": "basic", "username": "user", "password": "secret://t/password"},
    }

    def ids(self, body: bytes) -> list[str]:
        return [json.loads(line)["id"] for line in body.splitlines()]

    def trusts(self, headers: Mapping[str, str], body: bytes) -> bool:
        user = base64.b64decode(headers["authorization"].removeprefix("Basic ")).decode()
        return (user, headers["x-api-key"], headers["x-team"]) == ("user:p\u00e4ss:word", "api-key", "blue")


class Signed(Endpoint):
    """Accepts arrays of data with an OAuth2 token, and checks signatures during a change of keys."""

    secrets: ClassVar[Mapping[str, str]] = {
        "secret://t/client": "client-secret",
        "secret://t/new": f"whsec_{KEY}",
        "secret://t/old": f"whsec_{OLD_KEY}",
    }
    more: ClassVar[Mapping[str, Any]] = {
        "format": "array",
        "signing": {"keys": ["secret://t/new", "secret://t/old"]},
        "auth": {
            "type": "oauth2",
            "token_url": "http://127.0.0.1:PORT/token",
            "client_id": "hifi",
            "client_secret": "secret://t/client",
            "credentials": "body",
        },
    }

    def ids(self, body: bytes) -> list[str]:
        return [f"e{item['n']}" if isinstance(item, dict) else "e3" for item in json.loads(body)]

    def trusts(self, headers: Mapping[str, str], body: bytes) -> bool:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        mine = base64.b64encode(hmac.new(b"o" * 24, signed, hashlib.sha256).digest()).decode()
        known = f"v1,{mine}" in headers["webhook-signature"].split()
        return known and headers["authorization"] == "Bearer token-1"


class TestWebhook(Conformance):
    @pytest.fixture(params=[Endpoint, Single, Lines, Signed])
    def far(self, request: pytest.FixtureRequest) -> Iterator[Far]:
        endpoint = request.param()
        yield endpoint
        endpoint.close()
