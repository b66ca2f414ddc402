"""Through a real socket, collect refuses bad requests as a whole, never with 500, and keeps running."""

import gzip
import json
import socket
import time
from collections.abc import Iterator

import pytest
import zstandard

from shared.contracts.documents import Source, key_digest
from shared.contracts.limits import MAX_BODY_BYTES, MAX_REQUEST_EVENTS
from tests.contract.collect.conftest import publish
from tests.contract.collect.process import (
    EVENT,
    GOOD,
    KEY,
    LINES,
    PLAIN,
    CollectProcess,
    encoded,
    event,
    read_until_silent,
)
from tests.harness.service_process import HOST, Answer
from tests.harness.waiting import eventually

HEAD = b"POST /v1/events HTTP/1.1\r\nhost: x\r\n"
HEAD += f"authorization: Bearer {KEY}\r\ncontent-type: {EVENT}\r\n".encode()


@pytest.fixture(scope="module")
def hasty(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectProcess]:
    """A process that waits a second for a head and for a body."""
    log = tmp_path_factory.mktemp("hasty") / "collect.log"
    process = CollectProcess(bootstrap, log, body_timeout="1", head_timeout="1")
    try:
        process.wait_ready()
        yield process
        assert "unexpected" not in log.read_text()
    finally:
        process.kill()


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer wrong-key", f"Basic {KEY}", "Bearer \xff\xfe"]
)
def test_without_a_known_key_it_is_401(collect: CollectProcess, authorization: str | None) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    answer = collect.request("POST", "/v1/events", GOOD, headers | {"content-type": EVENT})
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json["field"] == "authorization"
    assert answer.json["fix"]


def test_the_digest_on_the_config_topic_is_not_accepted_as_a_key(collect: CollectProcess) -> None:
    assert collect.post(GOOD, key=key_digest(KEY)).status == 401


def test_over_the_sources_limit_it_is_429_until_the_wait_is_over(
    collect: CollectProcess, bootstrap: str
) -> None:
    publish(bootstrap, Source(name="slow", tenant="acme", write_keys=["slow-write-key"], rate_limit=0.5))

    def known() -> int | None:
        status = collect.post(GOOD, key="slow-write-key").status
        return None if status == 401 else status

    assert eventually(known) == 202

    def over() -> Answer | None:
        """The limit is one event in two seconds, so this may take longer."""
        answer = collect.post(GOOD, key="slow-write-key")
        return None if answer.status == 202 else answer

    refused = eventually(over, every=0)
    assert refused.status == 429
    wait = int(refused.headers["retry-after"])
    assert 1 <= wait <= 2
    time.sleep(wait)
    assert collect.post(GOOD, key="slow-write-key").status == 202


def test_a_body_declared_over_the_limit_is_413_before_it_is_sent(collect: CollectProcess) -> None:
    reply = collect.raw(HEAD + b"expect: 100-continue\r\ncontent-length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1))
    assert reply.startswith(b"HTTP/1.1 413")
    assert b"100 Continue" not in reply


def test_a_body_that_grows_over_the_limit_is_413_while_it_is_still_sent(collect: CollectProcess) -> None:
    with socket.create_connection((HOST, collect.port), timeout=60) as connection:
        connection.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        for _ in range(MAX_BODY_BYTES // 65536 + 1):
            connection.sendall(piece)
        assert connection.recv(12) == b"HTTP/1.1 413"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_413_by_its_decompressed_size(collect: CollectProcess, encoding: str) -> None:
    bomb = b" " * (256 * 1024 * 1024)
    body = gzip.compress(bomb, 1) if encoding == "gzip" else zstandard.compress(bomb)
    del bomb
    before = collect.metric("process_resident_memory_bytes")
    assert collect.post(body, content_encoding=encoding).status == 413
    assert collect.metric("process_resident_memory_bytes") - before < 64 * 1024 * 1024


@pytest.mark.parametrize(
    ("content_type", "encoding", "field"),
    [
        ("text/plain", "", "content-type"),
        ("", "", "content-type"),
        ("application/x-www-form-urlencoded", "", "content-type"),
        ("application/json; charset=latin-1", "", "content-type"),
        (EVENT, "br", "content-encoding"),
        (EVENT, "gzip, zstd", "content-encoding"),
    ],
)
def test_an_unknown_type_or_encoding_is_415(
    collect: CollectProcess, content_type: str, encoding: str, field: str
) -> None:
    answer = collect.post(GOOD, content_type, content_encoding=encoding)
    assert answer.status == 415
    assert answer.json["field"] == field


@pytest.mark.parametrize(
    "content_type", [f"{EVENT}; charset=utf-8", f'{EVENT};charset="UTF-8"', EVENT.upper()]
)
def test_utf_8_may_be_named(collect: CollectProcess, content_type: str) -> None:
    assert collect.post(GOOD, content_type).status == 202


def test_too_many_events_in_a_request_are_413(collect: CollectProcess) -> None:
    assert collect.post(b"{}\n" * (MAX_REQUEST_EVENTS + 1), LINES).status == 413
    assert collect.post(b"[" + b"{}," * MAX_REQUEST_EVENTS + b"{}]", PLAIN).status == 413


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("damage", ["truncated", "trailing", "concatenated", "garbage", "empty"])
def test_damaged_compression_is_400(collect: CollectProcess, encoding: str, damage: str) -> None:
    whole = gzip.compress(GOOD) if encoding == "gzip" else zstandard.compress(GOOD)
    damaged = {
        "truncated": whole[:-3],
        "trailing": whole + b"x",
        "concatenated": whole + whole,
        "garbage": GOOD,
        "empty": b"",
    }
    answer = collect.post(damaged[damage], content_encoding=encoding)
    assert answer.status == 400
    assert answer.json["field"] == "content-encoding"


def test_other_paths_and_methods_are_404_and_405(collect: CollectProcess) -> None:
    assert collect.request("GET", "/").status == 404
    assert collect.request("POST", "/v2/events", GOOD).status == 404
    refused = collect.request("GET", "/v1/events")
    assert (refused.status, refused.headers["allow"]) == (405, "POST")
    assert collect.request("DELETE", "/healthz").status == 405


def test_a_head_over_the_limit_is_431(collect: CollectProcess) -> None:
    reply = collect.raw(b"GET /healthz HTTP/1.1\r\nx: " + b"y" * 300_000)
    assert reply == b"" or reply.startswith(b"HTTP/1.1 431")
    assert collect.request("GET", "/healthz").status == 200


@pytest.mark.parametrize("sent", [b"", b"POST /v1/ev", HEAD])
def test_a_head_that_does_not_come_ends_the_connection(hasty: CollectProcess, sent: bytes) -> None:
    assert hasty.raw(sent).startswith(b"HTTP/1.1 408")


def test_a_body_that_does_not_come_is_408(hasty: CollectProcess) -> None:
    reply = hasty.raw(HEAD + b"content-length: 100\r\n\r\n{")
    assert reply.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in reply


@pytest.mark.parametrize("junk", [b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9\r\n\r\n", b"\r\n\r\n\0\0"])
def test_input_that_is_not_http_is_refused(hasty: CollectProcess, junk: bytes) -> None:
    reply = hasty.raw(junk)
    assert b"500" not in reply[:20]
    hasty.wait_ready()


def test_after_a_refusal_the_connection_goes_on(collect: CollectProcess) -> None:
    length = b"content-length: %d\r\n\r\n" % len(GOOD)
    wrong = HEAD.replace(KEY.encode(), b"wrong-key") + length + GOOD
    with socket.create_connection((HOST, collect.port), timeout=60) as connection:
        connection.sendall(wrong + HEAD + b"connection: close\r\n" + length + GOOD)
        reply = read_until_silent(connection)
    assert reply.count(b"HTTP/1.1 401") == 1
    assert reply.count(b"HTTP/1.1 202") == 1


def test_refusals_are_counted(collect: CollectProcess) -> None:
    before = collect.metric("hifi_collect_refused_events_total")
    collect.post(encoded(event(id="")))
    assert collect.metric("hifi_collect_refused_events_total") == before + 1
    assert json.loads(collect.request("GET", "/readyz").text)["ready"] is True
