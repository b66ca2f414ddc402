"""Follows the live tail of a pipe, from one stream of the API to the next."""

import time
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Final

import msgspec

from scripts.documents.api_client import ApiClient, DocumentsError, RefusedError
from shared.contracts.live_tail import AGAIN, Ended, Message, MessageReader, TailEnd, TailMessage

_PAUSE_SECONDS: Final = 2.0
_TRIES: Final = 15
_FULL: Final = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_REASONS: Final = {
    TailEnd.TOKEN: "the token was revoked, has expired, or may no longer see it",
    TailEnd.PIPE: "the pipe was deleted",
}


def followed(
    api: ApiClient, tenant: str, pipe: str, pause: Callable[[float], None] = time.sleep
) -> Iterator[Message]:
    """The messages of a pipe's tail, for ever: a new stream begins when one ends or breaks off.

    Events between two streams are missing; each stream begins with START.

    Raises:
        DocumentsError: if there is no tail at the start, no other one after some tries, or no more to see.
    """
    tries = 0
    while True:
        end: str = TailEnd.STORE
        try:
            for message in _one(api, f"/v1/tenants/{tenant}/pipes/{pipe}/tail"):
                if message.name == TailMessage.END:
                    end = msgspec.json.decode(message.data, type=Ended).reason
                else:
                    tries = 1
                    yield message
        except DocumentsError as error:
            if not 0 < tries < _TRIES or (isinstance(error, RefusedError) and error.code not in _FULL):
                raise
        if end not in AGAIN:
            raise DocumentsError(f"the tail of {pipe!r} has ended: {_REASONS.get(TailEnd(end), end)}")
        tries += 1
        if end != TailEnd.TIME:
            pause(_PAUSE_SECONDS)


def _one(api: ApiClient, path: str) -> Iterator[Message]:
    reader = MessageReader()
    for part in api.stream(path):
        yield from reader.feed(part)
