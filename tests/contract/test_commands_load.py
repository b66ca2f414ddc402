"""`hifi send` and `hifi receive` as a user runs them, over real sockets."""

import asyncio
import gzip
import os
import re
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import msgspec
import pytest
from aiohttp import web

from scripts.load.fault_injection import parse_rules
from scripts.load.received_events import heads
from scripts.load.receiver import Receiver, running
from scripts.load.records import read_acked, read_received
from scripts.load.verify import check_delivery
from tests.harness.command_line import HIFI
from tests.harness.waiting import eventually

ENVIRONMENT = {**os.environ, "HIFI_KEY": "some-write-key", "COLUMNS": "200"}

EVENTS = b"".join(b'{"specversion":"1.0","id":"e%d","source":"s","type":"t"}\n' % n for n in range(1_000))


def send(url: str, *arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*HIFI, "send", "--url", url, *map(str, arguments)],
        env=ENVIRONMENT,
        input=stdin,
        capture_output=True,
        timeout=300,
        check=False,
    )


@contextmanager
def sending(url: str, *arguments: object) -> Iterator["subprocess.Popen[bytes]"]:
    """A running `hifi send` with a pipe as its input."""
    command = [*HIFI, "send", "--url", url, *map(str, arguments)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=ENVIRONMENT, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def collect_stub(answer: Callable[[int, list[str]], web.Response]) -> Iterator[str]:
    """A server that answers the numbered request with given ids as the test says."""
    loop, count = asyncio.new_event_loop(), iter(range(10**9))
    runner: list[web.AppRunner] = []

    async def handle(request: web.Request) -> web.Response:
        return answer(next(count), [head.id for head in heads(await request.read(), request.headers)])

    async def start() -> int:
        app = web.Application()
        app.router.add_post("/v1/events", handle)
        runner.append(web.AppRunner(app))
        await runner[0].setup()
        await web.TCPSite(runner[0], "127.0.0.1", 0).start()
        return int(runner[0].addresses[0][1])

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        port = asyncio.run_coroutine_threadsafe(start(), loop).result(120)
        yield f"http://127.0.0.1:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(runner[0].cleanup(), loop).result(120)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def taken(ids: list[str]) -> web.Response:
    return web.json_response({"accepted": len(ids), "ids": ids}, status=202)


def test_refused_requests_are_repeated_until_they_are_accepted(tmp_path: Path) -> None:
    rules = parse_rules(["503=10%,429:0s=10%,reset=10%,delay:50ms=10%"])
    received, acked = tmp_path / "received.tsv", tmp_path / "acked.tsv"
    with running(Receiver(out=received, misbehaviour=rules)) as receiver:
        done = send(receiver.url, "--rate", 2_000, "--batch", 10, "--seconds", 1, "--acked", acked)
    assert done.returncode == 0, done.stderr
    assert receiver.requests.misbehaved > 0
    found = check_delivery(
        (each.event_id for each in read_acked(acked)), (e.event_id for e in read_received(received))
    )
    assert (found.acked, found.received, found.lost) == (2_000, 2_000, ())
    assert all(each.lag_ms is not None and each.lag_ms >= 0 for each in read_received(received))


def test_only_acknowledged_events_are_in_the_file(tmp_path: Path) -> None:
    def second_is_refused(_: int, ids: list[str]) -> web.Response:
        items = [{"index": n, "status": 202, "id": name} for n, name in enumerate(ids)]
        items[1] = {"index": 1, "status": 400, "detail": "too old", "field": "time", "fix": "-"}
        return web.json_response({"accepted": len(ids) - 1, "refused": 1, "items": items}, status=207)

    events = b"\n".join(b'{"specversion":"1.0","id":"e%d","source":"s","type":"t"}' % n for n in range(20))
    acked = tmp_path / "acked.tsv"
    with collect_stub(second_is_refused) as url:
        done = send(url, "-", "--batch", 10, "--acked", acked, stdin=events)
    assert done.returncode == 1
    assert b"time: too old" in done.stdout
    names = {each.event_id for each in read_acked(acked)}
    assert names == {f"e{n}" for n in range(20)} - {"e1", "e11"}


def test_retry_after_is_honoured() -> None:
    tries: Counter[str] = Counter()

    def busy_once(_: int, ids: list[str]) -> web.Response:
        tries[ids[0]] += 1
        return taken(ids) if tries[ids[0]] > 1 else web.Response(status=503, headers={"Retry-After": "1"})

    with collect_stub(busy_once) as url:
        done = send(url, "--rate", 10, "--batch", 1, "--seconds", 0.3)
    assert done.returncode == 0, done.stderr
    assert set(tries.values()) == {2}
    times = re.search(rb"answer time\s+p50 ([\d,]+) ms", done.stdout)
    assert times
    assert int(times[1].replace(b",", b"")) >= 1_000


def test_events_that_are_never_acknowledged_are_reported() -> None:
    with collect_stub(lambda *_: web.Response(status=503)) as url:
        done = send(url, "--rate", 100, "--batch", 10, "--seconds", 0.2, "--patience", 0.3)
    assert done.returncode == 1
    assert re.search(rb"unacknowledged\s+20", done.stdout)


def test_a_wrong_key_ends_the_load_with_the_reason() -> None:
    body = {"detail": "the key is unknown", "field": "authorization", "fix": "use the source's key"}
    with collect_stub(lambda *_: web.json_response(body, status=401)) as url:
        done = send(url, "--rate", 10, "--seconds", 60)
    assert done.returncode == 1
    assert b"the key is unknown" in done.stderr


def test_a_redirect_is_named_and_counts_nothing_as_acknowledged(tmp_path: Path) -> None:
    acked = tmp_path / "acked.tsv"
    with running(Receiver()) as elsewhere:
        moved = {"Location": f"{elsewhere.url}/v1/events"}
        with collect_stub(lambda *_: web.Response(status=302, headers=moved)) as url:
            done = send(url, "--rate", 100, "--seconds", 60, "--acked", acked)
        assert elsewhere.arrivals == 0
    assert done.returncode == 1
    assert f"302, which is not of collect: it is moved to {moved['Location']}" in done.stderr.decode()
    assert list(read_acked(acked)) == []


def test_a_file_with_a_bad_line_is_refused_before_any_of_it_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "plain.ndjson"
    file.write_bytes(b'{"a":1}\n' * 500 + b"oops\n")
    with running(Receiver()) as receiver:
        done = send(receiver.url, file)
        assert receiver.requests.accepted == 0
    assert done.returncode == 1
    assert b"line 501 is not a JSON object" in done.stderr


def test_a_server_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    with running(Receiver()) as first:
        port = first.port
    sending = subprocess.Popen(
        [
            *HIFI,
            "send",
            "--url",
            f"http://127.0.0.1:{port}",
            "--rate",
            "50",
            "--seconds",
            "1",
            "--batch",
            "5",
        ],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            sending.wait(3)  # it continues although no process answers
        with running(Receiver(port)) as receiver:
            assert sending.wait(120) == 0
            assert receiver.counts("/v1/events").distinct == 50
    finally:
        sending.kill()
        sending.communicate()


def test_an_interrupted_file_is_reported_with_how_far_it_was_sent(tmp_path: Path) -> None:
    file = tmp_path / "events.ndjson"
    file.write_bytes(EVENTS)
    with running(Receiver()) as receiver, sending(receiver.url, file, "--rate", 20, "--batch", 1) as process:
        eventually(lambda: receiver.counts("/v1/events").distinct > 2, 120, "some events arrived")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    found = re.search(
        rb"interrupted: the file was not sent to its end, only its first (\d+) of 1,000", errors
    )
    assert found
    assert int(found[1]) == receiver.counts("/v1/events").distinct


def test_lines_of_an_idle_pipe_are_sent_and_a_signal_ends_it() -> None:
    with running(Receiver()) as receiver, sending(receiver.url, "-") as process:
        assert process.stdin
        process.stdin.write(EVENTS[: EVENTS.index(b"\n") + 1])
        process.stdin.flush()
        eventually(lambda: receiver.counts("/v1/events").distinct == 1, 120, "the line arrived")
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 130, "the pipe is still open"


def test_a_pipe_with_a_name_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(EVENTS),), daemon=True)
    writer.start()
    arrived: list[str] = []

    def note(_: int, ids: list[str]) -> web.Response:
        arrived.extend(ids)
        return taken(ids)

    with collect_stub(note) as url:
        done = send(url, pipe)
    assert done.returncode == 0, done.stderr
    assert sorted(arrived) == sorted(f"e{number}" for number in range(1_000))


def test_a_pipe_that_breaks_in_the_middle_is_reported(tmp_path: Path) -> None:
    with running(Receiver()) as receiver:
        done = send(receiver.url, "-", stdin=gzip.compress(EVENTS, mtime=0)[:-20])
    assert done.returncode == 1
    assert b"error -: Compressed file ended" in done.stderr


def test_without_key_or_end_it_is_a_usage_error() -> None:
    assert send("http://127.0.0.1:9").returncode == 2
    nobody = {**ENVIRONMENT, "HIFI_KEY": ""}
    done = subprocess.run([*HIFI, "send", "--seconds", "1"], env=nobody, capture_output=True, check=False)
    assert done.returncode == 2


def test_the_receiver_writes_everything_down_when_it_is_ended(tmp_path: Path) -> None:
    out = tmp_path / "received.tsv"
    process = subprocess.Popen(
        [*HIFI, "receive", "--port", "0", "--out", str(out)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr
        found = re.search(r"http://\S+:\d+", process.stderr.readline())
        assert found
        assert send(found[0], "--rate", 5_000, "--seconds", 0.5).returncode == 0
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert len(list(read_received(out))) == 2_500
    assert "2,500" in output


def test_a_path_that_looks_like_markup_is_shown_as_it_is() -> None:
    pipe = subprocess.PIPE
    command = [*HIFI, "receive", "--port", "0"]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stderr
        found = re.search(r"http://\S+:\d+", process.stderr.readline())
        assert found
        asyncio.run(post(f"{found[0]}/[/red]", EVENTS))
        shown = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "/[/red] 1,000" in shown
    assert "/[/red]" in output


async def post(url: str, body: bytes) -> None:
    headers = {"Content-Type": "application/x-ndjson"}
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as answer:
        assert answer.status == 202


def test_an_invalid_rule_is_a_usage_error() -> None:
    done = subprocess.run(
        [*HIFI, "receive", "-m", "nonsense"], env=ENVIRONMENT, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"503=10%" in done.stderr


def test_every_format_is_counted() -> None:
    event = {"specversion": "1.0", "id": "a", "source": "s", "type": "t", "time": "2026-01-31T12:00:00Z"}
    one = msgspec.json.encode(event)
    bodies = {
        "application/cloudevents-batch+json": b"[" + one + b"," + one + b"]",
        "application/cloudevents+json": one,
        "application/x-ndjson": one + b"\n" + one,
        "application/json": b"[" + one + b"]",
    }
    assert [len(heads(body, {"Content-Type": kind})) for kind, body in bodies.items()] == [2, 1, 2, 1]
    assert heads(b"anything", {"ce-id": "b"})[0].id == "b"
