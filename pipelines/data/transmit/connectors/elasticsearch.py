"""Elasticsearch and OpenSearch: one `_bulk` request per batch, with an answer for each event."""

from collections.abc import Sequence
from typing import Final

import aiohttp
import msgspec
from msgspec import Struct

from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType
from pipelines.data.transmit.connectors.http.client import (
    RESPONSE_BYTES,
    HttpRequest,
    HttpResponse,
    answers_by_item,
    error_code,
    send_for_body,
)
from pipelines.data.transmit.connectors.http.credentials import basic, header_text
from pipelines.data.transmit.connectors.http.formats import line
from pipelines.data.transmit.events import Event
from shared.connectors.elasticsearch import SPEC, Options
from shared.contracts.documents import Destination
from shared.contracts.reasons import EXISTS
from shared.contracts.secrets import Secrets, secret_text

_ITEM_BYTES: Final = 256
"""Generous size of the response for one event; `filter_path` leaves out what is not needed."""

_FILTER: Final = "filter_path=items.*.status,items.*.error.type"
_CONFLICT: Final = Answer(status=409, detail="version_conflict_engine_exception")
"""Answer to a `create` if the id exists already; other errors with this status mean something else."""

_THERE: Final = Answer(status=200)
_KEPT: Final = Answer(
    error=f"{EXISTS}: the index has the document of an earlier delivery, and `create` does not replace it",
    hopeless=True,
)


class _Error(Struct):
    type: str | None = None


class _Item(Struct):
    status: int
    error: _Error | None = None


class _Bulk(Struct):
    items: list[dict[str, _Item]] = []


_decoder: Final = msgspec.json.Decoder(_Bulk)


class Elasticsearch:
    """Sends to clusters, which answer for each event."""

    def __init__(self, session: aiohttp.ClientSession, secrets: Secrets) -> None:
        self._session = session
        self._secrets = secrets

    async def send(
        self, destination: Destination, options: Options, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """One bulk request."""
        request = HttpRequest(
            url=f"{options.url.rstrip('/')}/{options.index}/_bulk?{_FILTER}",
            headers={"Content-Type": "application/x-ndjson", **_authorization(options, self._secrets)},
            body=bulk(options.operation, events),
        )
        most = RESPONSE_BYTES + _ITEM_BYTES * len(events)
        response = await send_for_body(self._session, request, seconds, most)
        return answers(response, events, options.operation)

    async def close(self) -> None:
        """Nothing to close: the connections belong to the session."""


def bulk(operation: str, events: Sequence[Event]) -> bytes:
    """The body: for each event a line with the action and a line with the document.

    The document's id is the delivery key (of pipe, CloudEvents source and id), so that a repeat overwrites.
    The event's id alone may occur in another source, and one of the two would be lost.
    """
    action = b'{"%b":{"_id":"%%b"}}\n%%b\n' % operation.encode()
    return b"".join([action % (event.key.hex().encode(), line(event)) for event in events])


def answers(response: HttpResponse | Answer, events: Sequence[Event], operation: str) -> list[Answer]:
    """An answer for each event, from the response to a bulk request of one operation."""
    if isinstance(response, Answer):
        return [response] * len(events)
    if not response.ok:
        return [response.answer()] * len(events)
    found = answers_by_item(response, len(events), _items, _answer)
    if operation != "create":
        return found
    return [_of_create(answer, event) for answer, event in zip(found, events, strict=True)]


def _items(body: bytes) -> list[_Item]:
    return [item for each in _decoder.decode(body).items for item in each.values()]


def _answer(item: _Item) -> Answer:
    return Answer(status=item.status, detail=error_code(item.error.type) if item.error else "")


def _of_create(answer: Answer, event: Event) -> Answer:
    """The answer for an event; a document that is there already settles it.

    The document's id is that of the delivery, so an earlier try wrote it, and its answer or receipt was lost.
    Only a replay has to replace what was written before it: `create` never will, so trying again is in vain.
    """
    if answer != _CONFLICT:
        return answer
    return _THERE if event.replay is None else _KEPT


def _authorization(options: Options, secrets: Secrets) -> dict[str, str]:
    """The Authorization header.

    Raises:
        UnknownSecretError: if a secret is missing.
        BadSecretError: if it cannot be used.
    """
    if options.api_key is not None:
        return {"Authorization": f"ApiKey {header_text(secrets, options.api_key)}"}
    if options.username is not None and options.password is not None:
        return {"Authorization": basic(options.username, secret_text(secrets, options.password))}
    return {}


async def _open(context: ConnectorContext) -> Elasticsearch:
    return Elasticsearch(context.session, context.secrets)


CONNECTOR: Final = ConnectorType(spec=SPEC, open=_open)
