"""The s3 connector keeps every connector's promises, against moto's S3 behind a proxy."""

import base64
import gzip
import random
import re
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import pytest

from pipelines.data.transmit.connectors.aws.s3_upload import PART_BYTES
from tests.contract.connectors.conformance import ALL, Conformance, ends, events, reasons, send
from tests.contract.connectors.http_far import Asked, HttpFar
from tests.contract.transmit_rig import AMPLE, Rig
from tests.harness.local_aws import REGION, client, local_aws
from tests.harness.scripted_server import reply
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

MINUTE = "2025/02/19/2120"
"""29,000,000 minutes after the epoch."""

CODES = {400: "InvalidRequest", 403: "AccessDenied", 429: "SlowDown", 503: "ServiceUnavailable"}


class Bucket(HttpFar):
    """A bucket; an object succeeds or fails as a whole."""

    connector = "s3"
    overwrites: ClassVar[bool] = True
    secrets: ClassVar[dict[str, str]] = {"secret://t/aws": "a-secret-access-key"}

    def __init__(self, aws: str) -> None:
        super().__init__()
        self._aws = aws
        self.client = client("s3", aws)
        self.client.create_bucket(Bucket="events", CreateBucketConfiguration={"LocationConstraint": REGION})
        self.failure = b""
        self.failing_call = ""

    def options(self, port: int | None = None) -> dict[str, Any]:
        return {
            "bucket": "events",
            "region": REGION,
            "prefix": "raw/source=hifi/",
            "access_key_id": "AKIAEXAMPLE",
            "secret_access_key": "secret://t/aws",
            "endpoint": f"http://127.0.0.1:{port or self.port}",
        }

    async def take(self, asked: Asked) -> bytes:
        if self.failure and re.search(self.failing_call, f"{asked.method} {asked.target}"):
            return self.failure
        if "?" not in asked.target:
            statuses = [self.status_of(id_) for id_ in ids(asked.body)]
            if wrong := next((status for status in statuses if status != 200), None):
                return refusal(503 if wrong == 429 else wrong, CODES[wrong])
        return await self.forwarded(asked, self._aws, asked.body)

    def names(self) -> list[str]:
        return [each["Key"] for each in self.client.list_objects_v2(Bucket="events").get("Contents", ())]

    def content(self, name: str) -> bytes:
        found: bytes = self.client.get_object(Bucket="events", Key=name)["Body"].read()
        return found

    def received(self) -> list[str]:
        return [id_ for name in self.names() for id_ in ids(self.content(name))]


def ids(content: bytes) -> list[str]:
    return [msgspec.json.decode(line)["id"] for line in gzip.decompress(content).splitlines()]


def refusal(status: int, code: str) -> bytes:
    return reply(status, body=f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>")


@pytest.fixture
def far() -> Iterator[Bucket]:
    with local_aws() as aws:
        bucket = Bucket(aws)
        yield bucket
        bucket.close()


class TestS3(Conformance):
    """Runs the suite against a bucket."""


def test_an_object_for_each_minute_with_a_line_for_each_event(far: Bucket, rig: Rig) -> None:
    value = b'{\n "n": 12345678901234567890.10 }'
    rig.deliver(flat_batch([row(1, value=value), row(2), row(3, minute=29_000_001)]))
    first, second = far.names()
    assert first.startswith(f"raw/source=hifi/t/p1/{MINUTE}/")
    assert second.startswith("raw/source=hifi/t/p1/2025/02/19/2121/")
    assert first.endswith(".ndjson.gz")
    lines = gzip.decompress(far.content(first)).splitlines()
    assert [line for line in lines if b'{  "n": 12345678901234567890.10 }' in line]
    assert sorted(ids(far.content(first))) == ["e1", "e2"]


def test_a_replay_in_another_order_overwrites_with_the_same_bytes(far: Bucket, rig: Rig) -> None:
    send(rig)
    (name,) = far.names()
    before = far.content(name)
    rig.forget_deliveries()
    rig.deliver(flat_batch(events(0, 6)[::-1]))
    assert far.names() == [name]
    assert far.content(name) == before


def large(rig: Rig, far: Bucket) -> list[dict[str, object]]:
    """Events large enough for a multipart upload: base64 of noise compresses only by a quarter."""
    rig.lead("p1", "s3", far.options(), max_bytes=8 * 1024 * 1024, timeout_seconds=2 * AMPLE)
    noise = [base64.b64encode(random.Random(n).randbytes(780_000)) for n in range(7)]
    return [row(n, value=b'"' + noise[n] + b'"') for n in range(7)]


def test_a_large_object_is_written_in_parts(far: Bucket, rig: Rig) -> None:
    rows = rig.deliver(flat_batch(large(rig, far)), deadline=4 * AMPLE)
    assert set(ends(rows).values()) == {"delivered"}
    assert sorted(far.received()) == [f"e{n}" for n in range(7)]
    (name,) = far.names()
    head = far.client.head_object(Bucket="events", Key=name)
    assert head["ContentLength"] > PART_BYTES
    assert head["ETag"].endswith('-2"')


@pytest.mark.parametrize(
    ("call", "answer", "end"),
    [
        (r"[?]uploads=", refusal(403, "AccessDenied"), "dead"),
        ("partNumber=2", refusal(403, "AccessDenied"), "dead"),
        ("partNumber=1", refusal(503, "SlowDown"), "retry"),
        # S3 may send status 200 and then an error in the body.
        (r"POST .*[?]uploadId=", refusal(200, "InternalError"), "retry"),
    ],
)
def test_a_large_object_that_is_not_written_whole_is_not_there_and_leaves_no_parts(
    far: Bucket, rig: Rig, call: str, answer: bytes, end: str
) -> None:
    far.failure, far.failing_call = answer, call
    rows = rig.deliver(flat_batch(large(rig, far)), deadline=4 * AMPLE)
    assert set(ends(rows).values()) == {end}
    assert not far.names()
    until = time.monotonic() + AMPLE
    while far.client.list_multipart_uploads(Bucket="events").get("Uploads"):
        assert time.monotonic() < until, "parts were left behind"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("answer", "end", "says"),
    [
        (refusal(403, "AccessDenied"), "dead", "403 (AccessDenied)"),
        (refusal(403, "SignatureDoesNotMatch"), "dead", "403 (SignatureDoesNotMatch)"),
        (refusal(404, "NoSuchBucket"), "dead", "404 (NoSuchBucket)"),
        (refusal(301, "PermanentRedirect"), "dead", "301 (PermanentRedirect)"),
        (refusal(400, "RequestTimeout"), "retry", "408 (RequestTimeout)"),
        (refusal(403, "RequestTimeTooSkewed"), "retry", "503 (RequestTimeTooSkewed)"),
        (refusal(503, "SlowDown"), "retry", "429 (SlowDown)"),
        (refusal(500, "InternalError"), "retry", "500 (InternalError)"),
        (refusal(200, "InternalError"), "retry", "500 (InternalError)"),
        (reply(502, body="<html>"), "retry", "502"),
    ],
)
def test_the_outcome_of_an_object_that_is_refused(
    far: Bucket, rig: Rig, answer: bytes, end: str, says: str
) -> None:
    far.failure = answer
    rows = send(rig)
    assert ends(rows) == dict.fromkeys(ALL, end)
    assert {text.partition("answered ")[2] for text in reasons(rows)} == {says}
