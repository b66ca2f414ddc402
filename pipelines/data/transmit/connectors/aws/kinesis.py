"""Amazon Kinesis data streams: PutRecords, an answer for each record."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import aiohttp
import msgspec
from msgspec import Meta, Struct

from pipelines.data.transmit.connectors.aws.client import (
    AccessKeyId,
    Endpoint,
    Region,
    SecretKey,
    Signer,
    endpoint_faults,
    endpoint_hosts,
    failure,
    status_of,
)
from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType, PathText
from pipelines.data.transmit.connectors.http.client import (
    RESPONSE_BYTES,
    HttpRequest,
    HttpResponse,
    answers_by_item,
    error_code,
    exchange,
)
from pipelines.data.transmit.connectors.http.formats import structured
from pipelines.data.transmit.events import Event, attributes_of, partition_key
from shared.contracts.documents import Batch, Destination
from shared.contracts.secrets import Secrets

RECORDS: Final = 500
RECORD_BYTES: Final = 1024 * 1024
"""PutRecords' limits, of one request and of one record: data and partition key, before base64."""

REQUEST_BYTES: Final = 4 * 1024 * 1024
"""Limit of data in a request; PutRecords accepts 5 MiB including partition keys."""

_KEY_CHARACTERS: Final = 256
_ITEM_BYTES: Final = 1024
_HEADERS: Final = {
    "Content-Type": "application/x-amz-json-1.1",
    "X-Amz-Target": "Kinesis_20131202.PutRecords",
}
_TOO_LARGE: Final = 413
_THROTTLED_SECONDS: Final = "1"
"""A shard's limits are per second, so the next second may accept what this one refuses."""


class Options(Struct, kw_only=True, frozen=True):
    """How to reach a stream."""

    stream: Annotated[str, Meta(pattern="^[a-zA-Z0-9_.-]{1,128}$", description="name of the stream")]
    region: Region
    access_key_id: AccessKeyId
    secret_access_key: SecretKey
    endpoint: Endpoint | None = None


class _Record(Struct):
    data: bytes = msgspec.field(name="Data")
    key: str = msgspec.field(name="PartitionKey")

    @property
    def size(self) -> int:
        return len(self.data) + len(self.key.encode())


class _Request(Struct):
    stream: str = msgspec.field(name="StreamName")
    records: list[_Record] = msgspec.field(name="Records")


class _Item(Struct):
    code: str | None = msgspec.field(name="ErrorCode", default=None)


class _Taken(Struct):
    records: list[_Item] = msgspec.field(name="Records")


class _Failure(Struct):
    type: str = msgspec.field(name="__type", default="")


_encoder: Final = msgspec.json.Encoder()
_taken: Final = msgspec.json.Decoder(_Taken)
_failure: Final = msgspec.json.Decoder(_Failure)


class Kinesis:
    """Sends to streams; each record may be accepted or refused by itself."""

    def __init__(self, session: aiohttp.ClientSession, secrets: Secrets) -> None:
        self._session = session
        self._secrets = secrets

    async def send(
        self, destination: Destination, options: Options, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """One request."""
        secret = self._secrets.get(options.secret_access_key)
        signer = Signer("kinesis", options.region, options.access_key_id, secret)
        records = [record(event) for event in events]
        fit = [each for each in records if each.size <= RECORD_BYTES]
        taken = iter(await self._put(options, signer, fit, seconds) if fit else ())
        return [next(taken) if each.size <= RECORD_BYTES else Answer(status=_TOO_LARGE) for each in records]

    async def close(self) -> None:
        """Nothing to close: the connections belong to the session."""

    async def _put(
        self, options: Options, signer: Signer, records: list[_Record], seconds: float
    ) -> list[Answer]:
        """One request."""
        url = (options.endpoint or f"https://kinesis.{options.region}.amazonaws.com").rstrip("/") + "/"
        data = _encoder.encode(_Request(options.stream, records))
        request = await signer.signed(HttpRequest(url=url, headers=_HEADERS, body=data))
        most = RESPONSE_BYTES + _ITEM_BYTES * len(records)
        response = await exchange(self._session, request, seconds, most)
        return _answers(response, len(records))


def record(event: Event) -> _Record:
    """The event in CloudEvents' structured JSON format, under its partition key."""
    return _Record(structured(event), partition_key(event, attributes_of(event))[:_KEY_CHARACTERS])


def _answers(response: HttpResponse | Answer, records: int) -> list[Answer]:
    if isinstance(response, Answer):
        return [response] * records
    if not response.ok:
        return [failure(response, _code(response.body))] * records
    return answers_by_item(response, records, lambda body: _taken.decode(body).records, _answer)


def _answer(item: _Item) -> Answer:
    code = item.code
    if not code:
        return Answer(status=200)
    status = status_of(code) or 500  # all documented errors of single records may be retried
    return Answer(
        status=status,
        detail=error_code(code),
        retry_after=_THROTTLED_SECONDS if status == 429 else None,
    )


def _code(body: bytes) -> str:
    """AWS's error code without its `namespace#` prefix."""
    try:
        return _failure.decode(body).type.rpartition("#")[2]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def _batch(_: Options, limits: Batch) -> Batch:
    return Batch(max_events=min(limits.max_events, RECORDS), max_bytes=min(limits.max_bytes, REQUEST_BYTES))


async def _open(context: ConnectorContext) -> Kinesis:
    return Kinesis(context.session, context.secrets)


def _faults(options: Options) -> Iterator[PathText]:
    return endpoint_faults(options.endpoint)


def _hosts(options: Options) -> Iterator[PathText]:
    return endpoint_hosts(options.endpoint)


def _summary(options: Options) -> str:
    return f"{options.stream} ({options.region})"


CONNECTOR: Final = ConnectorType(
    options=Options, open=_open, batch=_batch, faults=_faults, hosts=_hosts, summary=_summary
)
