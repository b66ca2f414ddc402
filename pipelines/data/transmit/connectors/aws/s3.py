"""Amazon S3 and compatible stores: gzip-compressed NDJSON objects by tenant, pipe and minute."""

import asyncio
import gzip
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Executor
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote

from pipelines.data.transmit.connectors.aws.client import Signer
from pipelines.data.transmit.connectors.aws.s3_upload import S3Object, S3Uploader
from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType
from pipelines.data.transmit.connectors.http.formats import line
from pipelines.data.transmit.events import Event
from shared.connectors.s3 import SPEC, Options
from shared.contracts.documents import Destination
from shared.contracts.secrets import Secrets, secret_text

_LEVEL: Final = 6
_SMALL: Final = 32 * 1024
"""Bytes up to which compressing here is faster than handing the data to a thread."""

_NAME_CHARACTERS: Final = 32
_WRITES: Final = 4
"""Objects of a batch that are written at once: a backlog's batch may have events of thousands of minutes."""


class S3:
    """Writes one object per minute of a batch; each is written completely or not at all."""

    def __init__(self, uploader: S3Uploader, secrets: Secrets, threads: Executor) -> None:
        """`threads` compress."""
        self._uploader = uploader
        self._secrets = secrets
        self._threads = threads

    async def send(
        self, destination: Destination, options: Options, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """Write an object for each minute, some in parallel."""
        until = asyncio.get_running_loop().time() + seconds
        secret = secret_text(self._secrets, options.secret_access_key)
        signer = Signer("s3", options.region, options.access_key_id, secret)
        minutes: dict[int, list[Event]] = defaultdict(list)
        for event in events:
            minutes[event.minute].append(event)
        places = asyncio.Semaphore(_WRITES)

        async def write(some: Sequence[Event]) -> Answer:
            url = object_url(options, name(options.prefix, destination, some))
            async with places:
                return await self._write(url, signer, until, some)

        answers = await asyncio.gather(*map(write, minutes.values()))
        by_minute = dict(zip(minutes, answers, strict=True))
        return [by_minute[event.minute] for event in events]

    async def close(self) -> None:
        """Wait a little for abandoned uploads to be deleted."""
        await self._uploader.close()

    async def _write(self, url: str, signer: Signer, until: float, events: Sequence[Event]) -> Answer:
        loop = asyncio.get_running_loop()
        s3_object = S3Object(url=url, signer=signer, seconds_left=lambda: until - loop.time())
        if sum(event.size for event in events) < _SMALL:
            return await self._uploader.write(s3_object, content(events))
        data = await loop.run_in_executor(self._threads, content, events)
        return await self._uploader.write(s3_object, data)


def name(prefix: str, destination: Destination, events: Sequence[Event]) -> str:
    """An object's name, of tenant, pipe, minute and a digest of its events; the same for the same events."""
    first = events[0]
    minute = datetime.fromtimestamp(first.minute * 60, UTC).strftime("%Y/%m/%d/%H%M")
    digest = hashlib.sha256(b"".join(sorted(event.key for event in events))).hexdigest()
    return f"{prefix}{destination.tenant}/{first.pipe}/{minute}/{digest[:_NAME_CHARACTERS]}.ndjson.gz"


def content(events: Sequence[Event]) -> bytes:
    """The object: a line for each event, sorted by delivery key, so that a repeat gives the same bytes."""
    lines = [line(event) + b"\n" for event in sorted(events, key=lambda event: event.key)]
    return gzip.compress(b"".join(lines), _LEVEL, mtime=0)


def object_url(options: Options, key: str) -> str:
    """The URL of an object, encoded as S3 does it for the signature: `=` of a Hive-style prefix is `%3D`."""
    return f"{base_url(options)}/{quote(key, safe='/-_.~')}"


def base_url(options: Options) -> str:
    """The base URL of the bucket's objects.

    A bucket with a dot in its name has no valid certificate as a host name, nor may a store at an endpoint.
    """
    if options.endpoint is not None:
        return f"{options.endpoint.rstrip('/')}/{options.bucket}"
    if "." in options.bucket:
        return f"https://s3.{options.region}.amazonaws.com/{options.bucket}"
    return f"https://{options.bucket}.s3.{options.region}.amazonaws.com"


async def _open(context: ConnectorContext) -> S3:
    return S3(S3Uploader(context.session, context.threads), context.secrets, context.threads)


CONNECTOR: Final = ConnectorType(spec=SPEC, open=_open)
