"""Amazon Kinesis data streams: PutRecords, an answer for each record."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import aiohttp
import msgspec
from msgspec import Meta, Struct

from pipelines.data.transmit.attributes import attributes_of, partition_key
from pipelines.data.transmit.aws import (
    AccessKeyId,
    Endpoint,
    Region,
    SecretKey,
    Signer,
    endpoint_faults,
    endpoint_hosts,
    judged,
    status_of,
)
from pipelines.data.transmit.batching import structured
from pipelines.data.transmit.connectors.base import Answer, Context, Kind, Place
from pipelines.data.transmit.events import Event
from pipelines.data.transmit.exchange import Reply, Request, exchange, word
from shared.contracts.config import Destination
from shared.contracts.secrets import Secrets

RECORDS: Final = 500
REQUEST_BYTES: Final = 5 * 1024 * 1024
RECORD_BYTES: Final = 1024 * 1024
"""PutRecords' limits; data and partition keys count, before base64."""

_KEY_CHARACTERS: Final = 256
_ANSWER_BYTES: Final = 64 * 1024
_ITEM_BYTES: Final = 1024
_HEADERS: Final = {
    "Content-Type": "application/x-amz-json-1.1",
    "X-Amz-Target": "Kinesis_20131202.PutRecords",
}
_TOO_LARGE: Final = 413
_THROTTLED_SECONDS: Final = "1"
"""A shard's limits are for each second: what one second refuses the next may take."""


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
    """A stream, whose shards each take what they can."""

    def __init__(self, session: aiohttp.ClientSession, secrets: Secrets) -> None:
        self._session = session
        self._secrets = secrets

    async def send(
        self, destination: Destination, options: Options, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """As many requests as PutRecords' limits ask for, one after the other."""
        until = asyncio.get_running_loop().time() + seconds
        secret = self._secrets.get(options.secret_access_key)
        signer = Signer("kinesis", options.region, options.access_key_id, secret)
        records = [record(event) for event in events]
        found = [Answer(status=_TOO_LARGE)] * len(events)
        stopped: Answer | None = None
        for run in runs(records):
            if stopped is None:
                left = until - asyncio.get_running_loop().time()
                reply = await self._put(options, signer, [records[at] for at in run], left)
                answers = [reply] * len(run) if isinstance(reply, Answer) else _answers(reply, len(run))
                stopped = reply if isinstance(reply, Answer) else None
            else:  # the whole request failed: the next would do no better
                answers = [stopped] * len(run)
            for at, answer in zip(run, answers, strict=True):
                found[at] = answer
        return found

    async def close(self) -> None:
        """Nothing: the connections are the session's."""

    async def _put(
        self, options: Options, signer: Signer, records: list[_Record], seconds: float
    ) -> Reply | Answer:
        """One request; an Answer where it failed as a whole."""
        url = (options.endpoint or f"https://kinesis.{options.region}.amazonaws.com").rstrip("/") + "/"
        data = _encoder.encode(_Request(options.stream, records))
        request = signer.signed(Request("POST", url, _HEADERS, data))
        most = _ANSWER_BYTES + _ITEM_BYTES * len(records)
        reply = await exchange(self._session, request, seconds, most)
        if isinstance(reply, Answer) or reply.ok:
            return reply
        return judged(reply, _code(reply.body))


def record(event: Event) -> _Record:
    """The event in CloudEvents' structured JSON format, under its partition key."""
    return _Record(structured(event), partition_key(event, attributes_of(event))[:_KEY_CHARACTERS])


def runs(records: Sequence[_Record]) -> Iterator[list[int]]:
    """Positions of records that fit one request together; those that fit none are left out."""
    run: list[int] = []
    size = 0
    for at, each in enumerate(records):
        if each.size > RECORD_BYTES:
            continue
        if run and (len(run) >= RECORDS or size + each.size > REQUEST_BYTES):
            yield run
            run, size = [], 0
        run.append(at)
        size += each.size
    if run:
        yield run


def _answers(reply: Reply, records: int) -> list[Answer]:
    try:
        items = _taken.decode(reply.body).records
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        items = []
    if len(items) != records:
        error = f"bad_answer: Kinesis answered {reply.status}, but not for each record"
        return [Answer(error=error)] * records
    return [_answer(item.code) for item in items]


def _answer(code: str | None) -> Answer:
    if not code:
        return Answer(status=200)
    status = status_of(code) or 400
    return Answer(
        status=status,
        detail=word(code),
        retry_after=_THROTTLED_SECONDS if status == 429 else None,
    )


def _code(body: bytes) -> str:
    """AWS's word for an error, `namespace#` before it left out."""
    try:
        return _failure.decode(body).type.rpartition("#")[2]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


async def _open(context: Context) -> Kinesis:
    return Kinesis(context.session, context.secrets)


def _faults(options: Options) -> Iterator[Place]:
    return endpoint_faults(options.endpoint)


def _hosts(options: Options) -> Iterator[Place]:
    return endpoint_hosts(options.endpoint)


def _summary(options: Options) -> str:
    return f"{options.stream} ({options.region})"


CONNECTOR: Final = Kind(options=Options, open=_open, faults=_faults, hosts=_hosts, summary=_summary)
