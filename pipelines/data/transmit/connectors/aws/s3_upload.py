"""Writes objects to S3 and compatible stores: in one request, or in parts if they are large."""

import asyncio
import html
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import aiohttp

from pipelines.data.transmit.connectors.aws.client import Signer, failure
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.http.client import HttpRequest, HttpResponse, send_for_body

PART_BYTES: Final = 5 * 1024 * 1024
"""Size of a part: the smallest that S3 accepts, except for the last one."""

ABORT_SECONDS: Final = 5.0

_TYPE: Final = {"Content-Type": "application/gzip"}
_CODE: Final = re.compile(rb"<Code>([A-Za-z0-9.]{1,80})</Code>")
_UPLOAD: Final = re.compile(rb"<UploadId>([^<]{1,1024})</UploadId>")
_ERROR: Final = re.compile(rb"<Error>")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Object:
    """One object to write."""

    url: str
    """URL of the object, already quoted."""

    signer: Signer
    seconds_left: Callable[[], float]
    """Seconds until the try's deadline."""


class S3Uploader:
    """Writes objects through a guarded session."""

    def __init__(self, session: aiohttp.ClientSession, threads: Executor) -> None:
        """`threads` hash large bodies."""
        self._session = session
        self._threads = threads
        self._aborting: set[asyncio.Task[HttpResponse | Answer]] = set()

    async def write(self, s3_object: S3Object, data: bytes) -> Answer:
        """Write one object; the store is unchanged unless the answer is a success."""
        if len(data) > PART_BYTES:
            return await self._in_parts(s3_object, data)
        found = await self._done(s3_object, "PUT", "", data)
        return found if isinstance(found, Answer) else found.answer()

    async def close(self) -> None:
        """Wait until the parts of abandoned uploads are deleted."""
        await asyncio.gather(*self._aborting, return_exceptions=True)

    async def _in_parts(self, s3_object: S3Object, data: bytes) -> Answer:
        """A multipart upload: the object exists only once the last request has succeeded."""
        begun = await self._done(s3_object, "POST", "?uploads=", b"")
        if isinstance(begun, Answer):
            return begun
        upload = _UPLOAD.search(begun.body)
        if upload is None:
            return Answer(error="bad_answer: S3 began an upload without an id")
        upload_id = quote(html.unescape(upload[1].decode(errors="replace")), safe="")
        try:
            answer = await self._upload(s3_object, upload_id, data)
        except asyncio.CancelledError:
            self._abort(s3_object, upload_id)
            raise
        if answer.status != 200:
            self._abort(s3_object, upload_id)
        return answer

    async def _upload(self, s3_object: S3Object, upload_id: str, data: bytes) -> Answer:
        parts = [data[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)]
        taken = await asyncio.gather(
            *(
                self._done(s3_object, "PUT", f"?partNumber={at}&uploadId={upload_id}", part)
                for at, part in enumerate(parts, start=1)
            )
        )
        if failed := next((each for each in taken if isinstance(each, Answer)), None):
            return failed
        tags = [each.headers.get("ETag", "") for each in taken if isinstance(each, HttpResponse)]
        end = await self._done(s3_object, "POST", f"?uploadId={upload_id}", _list_of_parts(tags))
        return end if isinstance(end, Answer) else end.answer()

    async def _done(self, s3_object: S3Object, method: str, query: str, data: bytes) -> HttpResponse | Answer:
        """One request; gives an Answer if it failed. S3 may report an error in a response with status 200."""
        response = await self._request(s3_object, method, query, data, s3_object.seconds_left())
        if isinstance(response, Answer):
            return response
        code = _CODE.search(response.body)
        if response.ok and _ERROR.search(response.body):
            return Answer(status=500, detail=code[1].decode() if code else "")
        return response if response.ok else failure(response, code[1].decode() if code else "")

    async def _request(
        self, s3_object: S3Object, method: str, query: str, data: bytes, seconds: float
    ) -> HttpResponse | Answer:
        url = s3_object.url + query
        unsigned = HttpRequest(method=method, url=url, headers=_TYPE, body=data)
        request = await s3_object.signer.signed(unsigned, self._threads)
        return await send_for_body(self._session, request, seconds)

    def _abort(self, s3_object: S3Object, upload_id: str) -> None:
        """Delete the parts of an abandoned upload, which cost money. A bucket rule should delete the rest."""
        work = self._request(s3_object, "DELETE", f"?uploadId={upload_id}", b"", ABORT_SECONDS)
        task = asyncio.get_running_loop().create_task(work)
        self._aborting.add(task)
        task.add_done_callback(self._aborting.discard)


def _list_of_parts(tags: Sequence[str]) -> bytes:
    parts = "".join(
        f"<Part><PartNumber>{at}</PartNumber><ETag>{html.escape(tag)}</ETag></Part>"
        for at, tag in enumerate(tags, start=1)
    )
    return f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
