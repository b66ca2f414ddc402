"""Bodies that are slow, or more than the process may hold, are refused and counted; other clients go on."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.contract.management.api_process import ApiProcess, running_api
from tests.harness.service_process import HOST

PATH = "/v1/tenants/slow/sources"


@pytest.fixture(scope="module")
def strict(dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    """One that waits a second for a body, and holds a mebibyte of them."""
    folder = tmp_path_factory.mktemp("strict")
    with running_api(folder, dynamodb_local, body_timeout="1", bodies_bytes=str(1024 * 1024)) as process:
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
) -> socket.socket:
    opened = stack.enter_context(socket.create_connection((HOST, api.port), timeout=60))
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
    """The answer to a request in one piece: its body is there with its head, however busy the machine is."""
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
