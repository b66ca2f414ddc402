"""Amazon Kinesis data streams: PutRecords, an answer for each record."""

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Final

import aiohttp
import msgspec
from msgspec import Struct

from pipelines.data.transmit.connectors.aws.client import Signer, failure, status_of
from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType
from pipelines.data.transmit.connectors.http.client import (
    RESPONSE_BYTES,
    HttpRequest,
    HttpResponse,
    answers_by_item,
    error_code,
    send_for_body,
)
from pipelines.data.transmit.events import Event, attributes_of, partition_key
from shared.connectors.kinesis import SPEC, Options
from shared.contracts.documents import Destination
from shared.contracts.secrets import Secrets, secret_text
from shared.transformation.event_content import structured

RECORD_BYTES: Final = 1024 * 1024
"""PutRecords' limit of one record: data and partition key, before base64."""

_KEY_CHARACTERS: Final = 256
_ITEM_BYTES: Final = 1024
_HEADERS: Final = {
    "Content-Type": "application/x-amz-json-1.1",
    "X-Amz-Target": "Kinesis_20131202.PutRecords",
}
_TOO_LARGE: Final = 413
_THROTTLED_SECONDS: Final = "1"
"""A shard's limits are per second, so the next second may accept what this one refuses."""


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

    def __init__(self, session: aiohttp.ClientSession, secrets: Secrets, threads: Executor) -> None:
        self._session = session
        self._secrets = secrets
        self._threads = threads

    async def send(
        self, destination: Destination, options: Options, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """One request."""
        secret = secret_text(self._secrets, options.secret_access_key)
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
        request = await signer.signed(HttpRequest(url=url, headers=_HEADERS, body=data), self._threads)
        most = RESPONSE_BYTES + _ITEM_BYTES * len(records)
        response = await send_for_body(self._session, request, seconds, most)
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


async def _open(context: ConnectorContext) -> Kinesis:
    return Kinesis(context.session, context.secrets, context.threads)


CONNECTOR: Final = ConnectorType(spec=SPEC, open=_open)
