"""Slow bodies, and more than the process may hold, are refused and counted; other clients go on."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import psutil
import pytest

from shared.contracts.documents import Pipe
from shared.dynamodb.document_table import DocumentTable
from tests.contract.management.api_process import ApiProcess, running_api
from tests.harness.document_changes import change_of
from tests.harness.service_process import HOST

VERSIONS = 25
ANSWER_BYTES = 4_000_000
UNREAD_ANSWERS = 30
GROWTH_BYTES = 60 * 1024 * 1024
"""Without a bound, the unread answers of 30 clients take 130 MiB."""
PATH = "/v1/tenants/slow/sources"


@pytest.fixture(scope="module")
def strict(dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    """An API that waits a second for a body and holds a mebibyte of them.

    It is behind a proxy, so it closes no idle connections itself.
    """
    settings = {"body_timeout": "1", "bodies_bytes": str(1024 * 1024), "public_url": "https://api.test"}
    with running_api(tmp_path_factory.mktemp("strict"), dynamodb_local, ApiProcess, **settings) as process:
        yield process


def _begun(
    api: ApiProcess,
    stack: ExitStack,
    *,
    token: str,
    size: int,
    first: bytes = b"",
    asked: str = f"PUT {PATH}/never",
    more: str = "",
    receive_bytes: int | None = None,
) -> socket.socket:
    opened = stack.enter_context(socket.socket())
    opened.settimeout(60)
    if receive_bytes is not None:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    opened.connect((HOST, api.port))
    lines = [
        f"{asked} HTTP/1.1",
        f"Host: {HOST}",
        f"Authorization: Bearer {token}",
        "If-None-Match: *",
        f"Content-Length: {size}",
    ]
    opened.sendall("\r\n".join([*lines, more, ""]).encode() + first)
    return opened


def _asked(api: ApiProcess, asked: str, body: bytes) -> str:
    """The answer to a request sent in one piece: body and head arrive together on the busiest machine."""
    with ExitStack() as stack:
        begun = _begun(
            api,
            stack,
            token=api.operator,
            size=len(body),
            first=body,
            asked=asked,
            more="Connection: close\r\n",
        )
        return _answer(begun)


def _answer(connection: socket.socket) -> str:
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    return received.decode()


def test_lists_that_many_connections_do_not_read_take_little_memory(strict: ApiProcess) -> None:
    viewer = strict.token("unread", "viewer")
    history = _long_history(strict)
    assert len(strict.ask("GET", history, token=viewer).text) > ANSWER_BYTES
    process = psutil.Process(strict.process.pid)
    resting, peak = process.memory_info().rss, 0
    with ExitStack() as stack:
        for _ in range(UNREAD_ANSWERS):
            unread = _begun(strict, stack, token=viewer, size=0, asked=f"GET {history}", receive_bytes=4_096)
            assert unread.recv(12) == b"HTTP/1.1 200"
            peak = max(peak, process.memory_info().rss)
        assert peak - resting < GROWTH_BYTES
        assert len(strict.ask("GET", history, token=viewer).text) > ANSWER_BYTES


def _long_history(api: ApiProcess) -> str:
    """The path of a page of versions that is as large as pages get; the API would check each version."""
    table = DocumentTable(api.table, api.endpoint)
    for n in range(VERSIONS):
        match = {"data": {"a": [f"{n}" + "x" * 200_000]}}
        pipe = Pipe(name="p", tenant="unread", source="s", destination="d", match=match)
        table.write("unread", [change_of(pipe)], by="ann", at_ms=n)
    return "/v1/tenants/unread/pipes/p/history?limit=200"


def test_a_slow_body_is_refused_in_words_and_counted(strict: ApiProcess) -> None:
    with ExitStack() as stack:
        said = _answer(_begun(strict, stack, token=strict.operator, size=100, first=b"{"))
    assert said.startswith("HTTP/1.1 408") and "application/problem+json" in said
    assert "did not arrive in time" in said
    counted = 'hifi_api_requests_total{method="PUT",status="408"}'
    assert counted in strict.request("GET", "/metrics").text


def test_a_stranger_is_refused_and_keeps_no_connection(strict: ApiProcess) -> None:
    with ExitStack() as stack:
        assert _answer(_begun(strict, stack, token="hifi_wrong", size=100)).startswith("HTTP/1.1 401")


def test_a_good_client_goes_on_beside_many_bodies_that_do_not_end(strict: ApiProcess) -> None:
    with ExitStack() as stack:
        for n in range(60):
            token = strict.operator if n % 2 else "hifi_wrong"
            _begun(strict, stack, token=token, size=500_000, first=b"x" * 50_000)
        for n in range(10):
            assert _asked(strict, f"PUT {PATH}/good{n}", b"{}").startswith("HTTP/1.1 201")


def test_a_body_that_ends_after_its_sender_was_removed_is_refused(api: ApiProcess) -> None:
    tenant = f"t{uuid4().hex[:8]}"
    root, body = f"/v1/tenants/{tenant}", b'{"role": "owner", "label": "for ever"}'
    asked = {"role": "owner", "label": "ann"}
    invitation = api.ask("POST", f"{root}/invitations", asked).json["invitation"]
    ann = api.ask("POST", "/v1/invitations/redeem", {}, token=invitation).json
    with ExitStack() as stack:
        begun = _begun(
            api,
            stack,
            token=ann["token"],
            size=len(body),
            first=body[:10],
            asked=f"POST {root}/tokens",
            more="Expect: 100-continue\r\nConnection: close\r\n",
        )
        assert b"100 Continue" in begun.recv(1_000), "the guard has let it in, and its body is waited for"
        assert api.ask("DELETE", f"{root}/members/{ann['id']}?revoke=true").status == 200
        begun.sendall(body[10:])
        answer = _answer(begun)
    assert answer.startswith("HTTP/1.1 401"), answer
    left = api.ask("GET", f"{root}/tokens").json["items"]
    assert not [each for each in left if ann["id"] in each["made_by"]]


@pytest.mark.parametrize("depth", [200, 900, 5_000])
def test_deep_nesting_is_refused_on_every_route_that_takes_a_body(strict: ApiProcess, depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    root = "/v1/tenants/deep"
    pipe = b'{"pipe":{"match":{"data":' + deep + b'}},"event":{}}'
    for method, path, body in (
        ("PUT", f"{root}/sources/s", deep),
        ("PUT", f"{root}/destinations/d", b'{"options":{"url":' + deep + b"}}"),
        ("PUT", f"{root}/pipes/p", b'{"match":{"data":' + deep + b"}}"),
        ("POST", f"{root}/apply", b'{"documents":[{"kind":"pipe","name":"p","transform":' + deep + b"}]}"),
        ("POST", f"{root}/try", pipe),
        ("POST", f"{root}/try", b'{"source":"s","event":{"data":' + deep + b"}}"),
        ("POST", f"{root}/tokens", b'{"role":' + deep + b"}"),
        ("POST", f"{root}/invitations", deep),
        ("POST", f"{root}/dead-letters/replay", b'{"filter":' + deep + b"}"),
    ):
        answer = _asked(strict, f"{method} {path}", body)
        said = re.search(r"nested (deeper|more) than \d+ levels", answer)
        assert (answer.split()[1], bool(said)) == ("422", True), (path, answer)
