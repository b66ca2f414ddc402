"""Pipes of a tenant, records of the chain that belong to them, and live tails."""

import http.client
import json
from typing import Any, Self

from shared.contracts import headers as h
from shared.contracts.envelope import delivery_key
from shared.contracts.topics import Topic
from tests.contract.management.api_process import ApiProcess, destination
from tests.harness.service_process import HOST
from tests.harness.topics import Headers, Topics, outbound_headers

REFUSED = "refused: the destination answered 404"


def make_pipes(api: ApiProcess, tenant: str, *names: str, **fields: Any) -> None:
    """Make pipes with the same fields, with their source and destination."""
    documents: list[dict[str, Any]] = [
        {"kind": "source", "name": f"{tenant}.s"},
        {"kind": "destination", "name": f"{tenant}.d", **destination()},
    ]
    documents += [
        {"kind": "pipe", "name": name, "source": f"{tenant}.s", "destination": f"{tenant}.d", **fields}
        for name in names
    ]
    done = api.ask("POST", f"/v1/tenants/{tenant}/apply", {"documents": documents})
    assert done.status == 200, done.text


def put_event(side: Topics, tenant: str, pipe: str, number: int, data: object = None, **headers: str) -> None:
    """An event on its way to transmit."""
    value = json.dumps({"n": number} if data is None else data).encode()
    side.put(Topic.OUTBOUND, value, _headers(tenant, pipe, number, headers), _key(tenant, pipe, number))


def put_letters(side: Topics, tenant: str, pipe: str, numbers: range, **headers: str) -> None:
    """Dead letters as transmit writes them."""
    for number in numbers:
        put_letter(side, tenant, pipe, number, 0, **headers)
    side.flush()


def put_letter(side: Topics, tenant: str, pipe: str, number: int, at_ms: int, **headers: str) -> None:
    """A dead letter with a time of its own, epoch milliseconds; 0 is now."""
    said = {h.REASON: REFUSED, h.STATUS: "404", h.FIRST_TRY: "1000", h.LAST_TRY: "2000"}
    written = _headers(tenant, pipe, number, said | {h.DESTINATION: f"{tenant}.d"} | headers)
    value = b'{"email":"ann@example.com","n":%d,"big":12345678901234567890.10}' % number
    side.put(Topic.DEAD_LETTER, value, written, _key(tenant, pipe, number), at_ms)


def _headers(tenant: str, pipe: str, number: int, more: dict[str, str]) -> Headers:
    return outbound_headers(pipe, number, **({h.TENANT: tenant} | more))


def _key(tenant: str, pipe: str, number: int) -> bytes:
    return delivery_key(tenant, pipe, "test", f"e{number}")


class Tail:
    """An open live tail; a context manager."""

    def __init__(self, api: ApiProcess, tenant: str, pipe: str, token: str = "") -> None:
        self._connection = http.client.HTTPConnection(HOST, api.port, timeout=120)
        asked = {"Authorization": f"Bearer {token or api.operator}"}
        self._connection.request("GET", f"/v1/tenants/{tenant}/pipes/{pipe}/tail", headers=asked)
        self._response = self._connection.getresponse()
        self.status, self.headers = self._response.status, self._response.headers
        self.raw = ""
        """Everything read so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._response.close()
        self._connection.close()

    def started(self) -> Self:
        """Wait until the tail misses nothing from now on."""
        assert self.status == 200, self._response.read()
        assert self.next()[0] == "start"
        return self

    def next(self) -> tuple[str, Any]:
        """The next event: its name and data. Waits; an empty name is the stream's end."""
        name, data = "", ""
        while line := self._response.readline().decode():
            self.raw += line
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                data += line[6:]
            elif line == "\n" and name:
                return name, json.loads(data)
        return "", None

    def next_of(self, wanted: str) -> Any:
        """The data of the next event of a name."""
        while (found := self.next())[0] != wanted:
            assert found[0], f"it ended without {wanted!r}"
        return found[1]
