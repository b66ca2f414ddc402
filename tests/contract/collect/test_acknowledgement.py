"""After a 2xx the events are in `collected`, byte for byte, with all that later hops need."""

import gzip
import json
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest
import zstandard

from shared.contracts import headers
from shared.contracts.documents import Source
from shared.contracts.envelope import collected_item
from shared.contracts.limits import CHUNK_BYTES, MAX_EVENT_BYTES
from tests.contract.collect.collected import Collected
from tests.contract.collect.conftest import publish
from tests.contract.collect.process import (
    BATCH,
    EVENT,
    KEY,
    LINES,
    PLAIN,
    CollectProcess,
    encoded,
    event,
)
from tests.harness.service_process import HOST
from tests.harness.waiting import eventually
from tests.strategies import NASTY


@pytest.mark.parametrize("event_time", ["2020-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"])
def test_an_event_stands_in_collected_when_its_202_comes_with_both_times(
    collect: CollectProcess, collected: Collected, event_time: str
) -> None:
    before = int(time.time() * 1000)
    given = event(time=event_time, subject="s", count=3, flag=True, unset=None)
    answer = collect.post(encoded(given))
    assert (answer.status, answer.json) == (202, {"accepted": 1, "ids": ["e1"]})
    (record,) = collected.records()
    stamped = dict(record.headers() or [])
    assert stamped[headers.TENANT] == b"acme"
    assert stamped[headers.SOURCE] == b"players"
    received = int(stamped[headers.RECEIVED] or 0)
    assert before <= received <= time.time() * 1000
    (item,) = collected.items()
    own = {"id": "e1", "source": "/test", "type": "t", "time": event_time, "subject": "s"}
    assert item == collected_item(
        own | {"count": "3", "flag": "true"}, minute=received // 60_000, data='{"n": 1}'
    )


def test_an_event_without_a_time_gets_the_receive_time(collect: CollectProcess, collected: Collected) -> None:
    assert collect.post(encoded(event())).status == 202
    (item,) = collected.items()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", item.attributes["time"])


@pytest.mark.parametrize("content_type", [BATCH, LINES])
def test_data_is_kept_as_it_was_written(
    collect: CollectProcess, collected: Collected, content_type: str
) -> None:
    lines = [
        encoded(event(id=str(n), data="@")).decode().replace('"@"', text) for n, text in enumerate(NASTY)
    ]
    whole = "[" + " ,\n".join(lines) + "]" if content_type == BATCH else "\n".join(lines)
    answer = collect.post(whole.encode(), content_type)
    assert answer.json == {"accepted": len(NASTY), "ids": [str(n) for n in range(len(NASTY))]}
    assert [item.data for item in collected.items()] == NASTY


def test_plain_objects_become_events_with_ids_of_their_own(
    collect: CollectProcess, collected: Collected
) -> None:
    texts = ['{"n":12345678901234567890,"n":1.10}', '{ "e" : "\\u00e9" }', "{}"]
    answer = collect.post(f"[{','.join(texts)}]".encode(), PLAIN)
    assert answer.json["accepted"] == 3
    items = collected.items()
    assert [item.data for item in items] == texts
    assert [item.attributes["id"] for item in items] == answer.json["ids"]
    assert len(set(answer.json["ids"])) == 3
    assert {item.attributes["source"] for item in items} == {"/sources/players"}
    assert {item.attributes["type"] for item in items} == {"hifi.event"}


def test_data_of_other_types_travels_as_its_text_or_as_base64(
    collect: CollectProcess, collected: Collected
) -> None:
    text = event(id="1", data="a\nb\0\U0001f600", datacontenttype="text/plain")
    binary = event(id="2", data=None, data_base64="AP8=", datacontenttype="application/octet-stream")
    without = event(id="3", data=None)
    assert collect.post(encoded(text, binary, without), BATCH).status == 202
    found = {item.attributes["id"]: (item.data, item.data_base64) for item in collected.items()}
    assert found == {"1": ("a\nb\0\U0001f600", None), "2": (None, "AP8="), "3": (None, None)}


def test_only_the_good_events_of_a_207_are_written(collect: CollectProcess, collected: Collected) -> None:
    answer = collect.post(encoded(event(id="good"), event(id="")), BATCH)
    assert answer.status == 207
    assert collected.ids() == {"good"}


def test_nothing_of_a_400_is_written(collect: CollectProcess, collected: Collected) -> None:
    assert collect.post(encoded(event(id=""), event(type="")), BATCH).status == 400
    assert collected.records() == []


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "identity"])
def test_compressed_bodies_are_taken(collect: CollectProcess, collected: Collected, encoding: str) -> None:
    body = encoded(*(event(id=str(n)) for n in range(2000)))
    packed = {"gzip": gzip.compress(body), "zstd": zstandard.compress(body), "identity": body}[encoding]
    assert collect.post(packed, BATCH, content_encoding=encoding).json["accepted"] == 2000
    assert len(collected.ids()) == 2000


def test_a_large_request_becomes_records_below_the_chunk_size(
    collect: CollectProcess, collected: Collected
) -> None:
    body = encoded(*(event(id=str(n), data={"pad": "x" * 1000}) for n in range(2000)))
    assert collect.post(body, BATCH).status == 202
    sizes = [len(record.value() or b"") for record in collected.records()]
    assert max(sizes) <= CHUNK_BYTES
    assert len(sizes) <= 6
    assert len(collected.ids()) == 2000


def test_the_largest_event_of_the_worst_text_is_taken(collect: CollectProcess, collected: Collected) -> None:
    quotes = r"\"" * ((MAX_EVENT_BYTES - 200) // 2)
    body = encoded(event(data="@")).replace(b'"@"', f'"{quotes}"'.encode())
    assert collect.post(body).status == 202
    assert collected.items()[0].data == f'"{quotes}"'


def test_a_new_source_is_live_without_a_restart(collect: CollectProcess, bootstrap: str) -> None:
    assert collect.post(encoded(event()), key="another-key").status == 401
    publish(bootstrap, Source(name="another", tenant="acme", write_keys=["another-key"]))
    eventually(lambda: collect.post(encoded(event()), key="another-key").status == 202)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("option", ["--http1.1", "--http1.0", "--http2"])
def test_curl_gets_its_reply_whatever_it_negotiates(collect: CollectProcess, option: str) -> None:
    body = encoded(*(event(id=str(n), data="x" * 1000) for n in range(1500)))  # over 1 MB: it sends Expect
    command = [
        "curl",
        "-sS",
        "-m",
        "60",
        option,
        f"http://{HOST}:{collect.port}/v1/events",
        "--data-binary",
        "@-",
    ]
    command += ["-H", f"authorization: Bearer {KEY}", "-H", f"content-type: {BATCH}"]
    found = subprocess.run(command, input=body, capture_output=True, check=True)
    assert json.loads(found.stdout)["accepted"] == 1500


def test_pipelined_requests_are_answered_in_order(collect: CollectProcess) -> None:
    def request(name: str, more: str = "") -> bytes:
        body = encoded(event(id=name))
        head = f"POST /v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n{more}"
        return f"{head}content-type: {EVENT}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body

    reply = collect.raw(request("a") + request("b") + request("c", "connection: close\r\n"))
    assert re.findall(rb'"ids":\["(.)"\]', reply) == [b"a", b"b", b"c"]


def test_acknowledged_and_late_events_are_counted(collect: CollectProcess) -> None:
    names = ("hifi_collect_events_total", "hifi_collect_late_events_total", "hifi_collect_requests_total")
    before = [collect.metric(name) for name in names]
    collect.post(encoded(event(id="1", time="2020-01-01T00:00:00Z"), event(id="2")), BATCH)
    assert [collect.metric(name) - b for name, b in zip(names, before, strict=True)] == [2, 1, 1]


class HastyCollect(CollectProcess):
    """Waits a second for the brokers' answers: its stop waits for the last one."""

    times: ClassVar[Mapping[str, float]] = {"shared.kafka.global_table._LOOK_SECONDS": 1.0}


def test_it_waits_for_brokers_that_are_not_there_yet(tmp_path: Path) -> None:
    """Alive but not ready, and no response is a 2xx."""
    process = HastyCollect("127.0.0.1:1", tmp_path / "log")
    try:
        eventually(lambda: _alive(process))
        assert process.request("GET", "/readyz").status == 503
        answer = process.post(encoded(event()))
        assert answer.status == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert process.stop() == 0
    finally:
        process.kill()


def _alive(process: CollectProcess) -> bool:
    try:
        return process.request("GET", "/healthz").status == 200
    except OSError:
        return False


def test_the_response_is_json_of_one_shape(collect: CollectProcess) -> None:
    answer = collect.post(encoded(event(), event(id="")), BATCH)
    assert answer.headers["content-type"] == "application/json"
    assert msgspec.json.decode(answer.text) == {
        "accepted": 1,
        "refused": 1,
        "items": [
            {"index": 0, "status": 202, "id": "e1"},
            {
                "index": 1,
                "status": 400,
                "detail": "id is missing",
                "field": "id",
                "fix": "give the event a non-empty id",
            },
        ],
    }
