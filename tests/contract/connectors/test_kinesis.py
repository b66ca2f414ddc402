"""The kinesis connector keeps every connector's promises, against moto's Kinesis behind a proxy."""

import asyncio
import base64
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import pytest

from pipelines.data.transmit.connectors.aws.kinesis import RECORD_BYTES
from shared.contracts import headers as h
from shared.contracts.topics import Topic
from tests.contract.connectors.conformance import ALL, Conformance, ends, reasons, send
from tests.contract.connectors.http_far import Asked, HttpFar
from tests.contract.transmit_rig import AMPLE, Rig, receipts, records
from tests.harness.local_aws import REGION, client, local_aws
from tests.harness.scripted_server import reply
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

REQUEST_BYTES = 5 * 1024 * 1024
"""Limit of PutRecords for data and partition keys together."""

CODES = {429: "ProvisionedThroughputExceededException", 503: "InternalFailure"}


class Stream(HttpFar):
    """A stream of two shards; each record has its own status."""

    connector = "kinesis"
    per_event: ClassVar[bool] = True
    largest: ClassVar[int | None] = RECORD_BYTES
    secrets: ClassVar[dict[str, str]] = {"secret://t/aws": "a-secret-access-key"}
    cannot: ClassVar[dict[str, str]] = {
        "refuse": "a single record is refused for a while only, never for good"
    }

    def __init__(self, aws: str) -> None:
        super().__init__()
        self._aws = aws
        self._client = client("kinesis", aws)
        self._client.create_stream(StreamName="events", ShardCount=2)
        self._alone = asyncio.Lock()  # moto keeps only one of two records that arrive at the same time
        self.failure = b""
        self.largest_batch = 0

    def options(self, port: int | None = None) -> dict[str, Any]:
        return {
            "stream": "events",
            "region": REGION,
            "access_key_id": "AKIAEXAMPLE",
            "secret_access_key": "secret://t/aws",
            "endpoint": f"http://127.0.0.1:{port or self.port}",
        }

    async def take(self, asked: Asked) -> bytes:
        if self.failure:
            return self.failure
        request = msgspec.json.decode(asked.body)
        self.largest_batch = max(self.largest_batch, len(request["Records"]))
        if sum(map(_size, request["Records"])) > REQUEST_BYTES:
            return reply(400, body='{"__type": "InvalidArgumentException"}')
        judged = [self.status_of(_event(each["Data"])["id"]) for each in request["Records"]]
        request["Records"] = [
            r for r, status in zip(request["Records"], judged, strict=True) if status == 200
        ]
        taken: Iterator[Any] = iter(())
        if request["Records"]:
            async with self._alone:
                response = await self.forwarded(asked, self._aws, msgspec.json.encode(request))
            head, _, body = response.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                return response
            taken = iter(msgspec.json.decode(body)["Records"])
        items = [next(taken) if status == 200 else {"ErrorCode": CODES[status]} for status in judged]
        failed = sum(status != 200 for status in judged)
        return reply(200, body=msgspec.json.encode({"FailedRecordCount": failed, "Records": items}).decode())

    def records(self) -> list[dict[str, Any]]:
        """All records of the stream."""
        found = []
        for shard in self._client.list_shards(StreamName="events")["Shards"]:
            at = self._client.get_shard_iterator(
                StreamName="events", ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
            found += self._client.get_records(ShardIterator=at)["Records"]
        return found

    def received(self) -> list[str]:
        return [msgspec.json.decode(each["Data"])["id"] for each in self.records()]


def _size(record: dict[str, str]) -> int:
    return len(base64.b64decode(record["Data"])) + len(record["PartitionKey"].encode())


def _event(data: str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(base64.b64decode(data))
    return found


@pytest.fixture
def far() -> Iterator[Stream]:
    with local_aws() as aws:
        stream = Stream(aws)
        yield stream
        stream.close()


class TestKinesis(Conformance):
    """Runs the suite against the stream."""


def test_a_record_is_the_event_under_its_partition_key(far: Stream, rig: Rig) -> None:
    value = b'{ "n": 12345678901234567890.10 }'
    headers = bytes(row(2)["headers"])  # type: ignore[call-overload]
    keyed = row(2) | {"headers": headers.replace(b"{", b'{"ce_partitionkey":"k",', 1)}
    rig.deliver(flat_batch([row(1, value=value), keyed]))
    first, second = sorted(far.records(), key=lambda each: str(each["PartitionKey"]))
    assert (first["PartitionKey"], second["PartitionKey"]) == ("e1", "k")
    assert first["Data"].endswith(b',"data":' + value + b"}")


def test_a_request_holds_no_more_than_put_records_takes(far: Stream, rig: Rig) -> None:
    rig.lead("p1", "kinesis", far.options(), max_events=10_000, timeout_seconds=2 * AMPLE)
    rows = rig.deliver(flat_batch([row(n) for n in range(1_100)]), deadline=2 * AMPLE)
    assert {receipt.result for receipt in receipts(rows)} == {"delivered"}
    assert len(far.received()) == 1_100
    assert far.largest_batch == 500


def test_texts_that_grow_as_json_fit_into_requests(far: Stream, rig: Rig) -> None:
    rig.lead("p1", "kinesis", far.options(), max_bytes=8 * 1024 * 1024, timeout_seconds=2 * AMPLE)
    rows = [row(n, value=b'"' * 400_000, content_type="text/plain") for n in range(10)]
    settled = rig.deliver(flat_batch(rows), deadline=2 * AMPLE)
    assert {receipt.result for receipt in receipts(settled)} == {"delivered"}
    assert sorted(far.received()) == sorted(f"e{n}" for n in range(10))


def test_throttled_records_alone_wait_with_the_services_word_for_it(far: Stream, rig: Rig) -> None:
    far.throttle()
    (first, *_) = records(send(rig))
    said = dict(first.headers)
    assert (first.topic, said[h.STATUS]) == (Topic.RETRY_IN_30S, b"429")
    assert said[h.REASON] == (
        b"refused: the destination answered 429 (ProvisionedThroughputExceededException)"
    )


@pytest.mark.parametrize(
    ("status", "type_", "said"),
    [
        (400, "com.amazonaws.kinesis#ResourceNotFoundException", ("dead", "404 (ResourceNotFoundException)")),
        (400, "UnrecognizedClientException", ("dead", "401 (UnrecognizedClientException)")),
        (400, "AccessDeniedException", ("dead", "403 (AccessDeniedException)")),
        (400, "LimitExceededException", ("retry", "429 (LimitExceededException)")),
        (400, "ThrottlingException", ("retry", "429 (ThrottlingException)")),
        (400, "ValidationException", ("dead", "400 (ValidationException)")),
        (500, "InternalFailure", ("retry", "500 (InternalFailure)")),
        (503, "<html>", ("retry", "503")),
    ],
)
def test_the_outcome_of_a_request_that_fails_as_a_whole(
    far: Stream, rig: Rig, status: int, type_: str, said: tuple[str, str]
) -> None:
    end, says = said
    far.failure = reply(status, body=msgspec.json.encode({"__type": type_}).decode())
    rows = send(rig)
    assert ends(rows) == dict.fromkeys(ALL, end)
    assert {text.partition("answered ")[2] for text in reasons(rows)} == {says}


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"Records":[]}', '{"Records":[{}]}'])
def test_a_success_without_a_status_for_each_event_is_a_failure(far: Stream, rig: Rig, body: str) -> None:
    far.failure = reply(200, body=body)
    rows = send(rig)
    assert ends(rows) == dict.fromkeys(ALL, "retry")
    assert {text.partition(":")[0] for text in reasons(rows)} == {"bad_answer"}
