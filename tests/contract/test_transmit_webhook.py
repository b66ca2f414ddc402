"""Destinations that answer, refuse, hang, disconnect and never end, on a real socket."""

import asyncio
import json
import os
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.contracts import headers as h
from shared.contracts.reasons import ConnectionFailure
from shared.contracts.receipts import unpack_keys
from shared.contracts.topics import Topic
from tests.contract.transmit_rig import AMPLE, Rig, header, receipts, records
from tests.harness.scripted_server import reply
from tests.harness.waiting import eventually, free_port
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row


@pytest.fixture(scope="module")
def shared_rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_success_is_receipted_with_the_keys_that_arrived(rig: Rig, status: int) -> None:
    rig.server.answer("/", reply(status, body="" if status == 204 else "ok"))
    rig.pipe("p1", "/")
    rows = rig.deliver(flat_batch([row(1), row(2)]))
    (receipt,) = receipts(rows)
    assert (receipt.result, receipt.status, receipt.tries, receipt.ids) == (
        "delivered",
        status,
        1,
        ["e1", "e2"],
    )
    assert list(unpack_keys(dict(rows[0].headers)[h.DELIVERED] or b"")) == [row(1)["key"], row(2)["key"]]
    assert not records(rows)


@pytest.mark.parametrize("status", [300, 301, 302, 307, 308, 400, 401, 403, 404, 410, 413, 422])
def test_refusal_is_a_dead_letter_at_once_and_a_redirect_is_not_followed(rig: Rig, status: int) -> None:
    rig.server.answer("/", reply(status, "Location: /elsewhere\r\n"))
    rig.pipe("p1", "/")
    rows = rig.deliver(flat_batch([row(1)]))
    (dead,) = records(rows)
    assert dead.topic == Topic.DEAD_LETTER
    assert (dead.key, dead.value) == (row(1)["key"], row(1)["value"])
    assert header(dead.headers, h.STATUS) == str(status)
    assert str(status) in header(dead.headers, h.REASON)
    assert header(dead.headers, "ce_id") == "e1"
    assert [r.result for r in receipts(rows)] == ["dead"]
    assert len(rig.server.bodies) == 1


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_failure_is_tried_again_and_then_left_for_later(rig: Rig, status: int) -> None:
    rig.server.answer("/", reply(status))
    rig.pipe("p1", "/")
    rows = rig.deliver(flat_batch([row(1)]))
    (later,) = records(rows)
    assert later.topic == Topic.RETRY_IN_30S
    assert len(rig.server.bodies) == 3
    wait = int(header(later.headers, h.NOT_BEFORE)) - int(header(later.headers, h.LAST_TRY))
    assert wait == 30_000
    (receipt,) = receipts(rows)
    assert (receipt.result, receipt.tries, receipt.status) == ("retry", 3, status)
    assert h.DELIVERED not in dict(rows[0].headers)


def test_failure_that_passes_is_delivered_by_a_local_try(rig: Rig) -> None:
    rig.server.answer("/", reply(500), reply(200))
    rig.pipe("p1", "/")
    (receipt,) = receipts(rig.deliver(flat_batch([row(1)])))
    assert (receipt.result, receipt.tries) == ("delivered", 2)


@pytest.mark.parametrize(
    ("headers", "requests", "topic"),
    [
        ("", 1, Topic.RETRY_IN_30S),
        ("Retry-After: 0\r\n", 3, Topic.RETRY_IN_30S),
        ("Retry-After: 60\r\n", 1, Topic.RETRY_IN_5M),
        ("Retry-After: Fri, 31 Dec 2999 23:59:59 GMT\r\n", 1, Topic.RETRY_IN_1H),
    ],
)
def test_rate_limit_is_respected(rig: Rig, headers: str, requests: int, topic: Topic) -> None:
    rig.server.answer("/", reply(429, headers))
    rig.pipe("p1", "/")
    (later,) = records(rig.deliver(flat_batch([row(1)])))
    assert (later.topic, len(rig.server.bodies)) == (topic, requests)


def test_later_attempts_wait_longer_and_keep_their_first_try(rig: Rig) -> None:
    rig.server.answer("/", reply(500))
    rig.pipe("p1", "/")
    first = 1_740_000_000_000
    later = row(1, attempt=3, first_try=first, reason="old")
    (dead,) = records(rig.deliver(flat_batch([later])))
    assert dead.topic == Topic.DEAD_LETTER  # the first try was long ago
    assert header(dead.headers, h.REASON).startswith("time_over: ")
    assert header(dead.headers, h.FIRST_TRY) == str(first)
    assert [name for name, _ in dead.headers].count(h.REASON) == 1


def test_too_large_request_is_halved_until_it_fits(rig: Rig) -> None:
    async def at_most_two(body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(200 if len(json.loads(body)) <= 2 else 413))

    rig.server.manners["/"] = at_most_two
    rig.pipe("p1", "/")
    rows = rig.deliver(flat_batch([row(n) for n in range(7)]))
    assert {r.result for r in receipts(rows)} == {"delivered"}
    assert sorted(i for r in receipts(rows) for i in r.ids) == [f"e{n}" for n in range(7)]


def test_an_address_without_a_listener_is_retried_later(rig: Rig) -> None:
    rig.pipe("p1", "/", port=free_port())
    rows = rig.deliver(flat_batch([row(1)]))
    assert [r.topic for r in records(rows)] == [Topic.RETRY_IN_30S]
    (receipt,) = receipts(rows)
    assert (receipt.status, receipt.tries) == (None, 3)
    assert receipt.reason.startswith("connection_refused: ")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://no-such-host.invalid/", ConnectionFailure.DNS),
        ("https://127.0.0.1:{port}/", ConnectionFailure.TLS),
    ],
)
def test_unknown_host_and_broken_tls_are_retried_later(rig: Rig, url: str, reason: str) -> None:
    async def without_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    rig.pipe("p1", "/", options={"url": url.format(port=rig.listen(without_tls))})
    rows = rig.deliver(flat_batch([row(1)]))
    assert [r.topic for r in records(rows)] == [Topic.RETRY_IN_30S]
    (receipt,) = receipts(rows)
    assert receipt.reason.startswith(f"{reason}: ")


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\xff garbage\r\n\r\n",
        b"HTTP/1.1 banana\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nb\xff\xfed header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000,
        b"",
    ],
)
def test_garbage_and_silence_at_the_end_are_no_success(rig: Rig, raw: bytes) -> None:
    async def speak_and_hang_up(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()
        writer.close()

    rig.server.manners["/"] = speak_and_hang_up
    rig.pipe("p1", "/")
    assert [r.topic for r in records(rig.deliver(flat_batch([row(1)])))] == [Topic.RETRY_IN_30S]


def test_reset_before_an_answer_is_retried_and_after_the_status_it_counts(rig: Rig) -> None:
    async def reset(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async def status_then_reset(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
        await writer.drain()
        writer.transport.abort()

    rig.server.manners.update({"/reset": reset, "/half": status_then_reset})
    rig.pipe("p1", "/reset")
    rig.pipe("p2", "/half")
    results = {r.pipe: r.result for r in receipts(rig.deliver(flat_batch([row(1), row(2, pipe="p2")])))}
    assert results == {"p1": "retry", "p2": "delivered"}


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_endless_or_slow_response_is_dropped_and_its_status_counts(rig: Rig, pause: float) -> None:
    sent = 0

    async def endless(_: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            await writer.drain()
            sent += 4096
            await asyncio.sleep(pause)

    rig.server.manners["/"] = endless
    rig.pipe("p1", "/")
    (receipt,) = receipts(rig.deliver(flat_batch([row(1)])))
    assert receipt.result == "delivered"
    assert rig.seconds < AMPLE, "its timeout"
    assert sent < 16 * 1024 * 1024  # the sockets' buffers, which transmit does not read


def test_compressed_response_is_not_unpacked(rig: Rig) -> None:
    rig.server.answer("/", reply(200, "Content-Encoding: gzip\r\n", "this is not gzip"))
    rig.pipe("p1", "/")
    (receipt,) = receipts(rig.deliver(flat_batch([row(1)])))
    assert (receipt.result, receipt.tries) == ("delivered", 1)


def test_hang_ends_at_the_deadline_and_others_are_receipted_long_before(rig: Rig) -> None:
    async def hang(_: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    rig.server.manners["/hang"] = hang
    rig.server.answer("/", reply(200))
    rig.pipe("stuck", "/hang", timeout_seconds=20 * AMPLE, max_events=1)
    rig.pipe("fine", "/")
    task = rig.task(deadline=10 * AMPLE)
    rows = list(task.take(flat_batch([row(n, pipe="stuck") for n in range(20)] + [row(99, pipe="fine")])))
    rows += task.answers(block=True)
    assert [r.pipe for r in receipts(rows)] == ["fine"]
    eventually(lambda: len(rig.server.bodies) == 5)
    rig.let_pass(10 * AMPLE)
    while task.waiting:
        rows += task.answers(block=True)
    task.close()
    later = [r for r in records(rows) if r.topic == Topic.RETRY_IN_30S]
    assert len(later) == 20  # those that were tried and those that were not
    assert len(rig.server.bodies) == 5
    tries = sorted(r.tries for r in receipts(rows) if r.pipe == "stuck")
    assert tries == [0] * 16 + [1] * 4


def test_connections_are_kept_and_requests_have_content_type_and_length(rig: Rig) -> None:
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/", options={"headers": {"X-Team": "blue"}})
    for n in range(5):
        rig.deliver(flat_batch([row(n)]))
    assert (len(rig.server.bodies), rig.server.connections) == (5, 1)
    head = rig.server.heads[0].lower()
    assert b"content-type: application/cloudevents-batch+json" in head
    assert b"x-team: blue" in head


def test_a_header_that_cannot_be_sent_costs_nothing_but_time(rig: Rig) -> None:
    rig.pipe("p1", "/", options={"headers": {"X-Bad": "a\r\nb"}})
    rows = rig.deliver(flat_batch([row(1)]))
    assert [r.topic for r in records(rows)] == [Topic.RETRY_IN_30S]


class Received(msgspec.Struct):
    data: msgspec.Raw


@given(
    st.lists(
        st.sampled_from(
            ["12345678901234567890", "1.10", '{"a":1,"a":2}', '"\\u00e9\\/\U0001f600"', "-0.0", "1E400"]
        )
        | st.text().map(json.dumps)
        | st.text(alphabet="abc \u20ac\U0001f600").map(lambda t: f'["{t}" ,  1 ]'),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_data_arrives_byte_for_byte(shared_rig: Rig, texts: list[str]) -> None:
    rig = shared_rig
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/", max_events=7)
    rig.server.bodies.clear()
    rows = [row(n, value=text.encode(), key=os.urandom(16)) for n, text in enumerate(texts)]
    rig.deliver(flat_batch(rows))
    arrived = [bytes(e.data) for b in rig.server.bodies for e in msgspec.json.decode(b, type=list[Received])]
    assert sorted(arrived) == sorted(text.encode() for text in texts)
