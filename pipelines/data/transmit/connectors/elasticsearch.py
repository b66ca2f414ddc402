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
    exchange,
)
from pipelines.data.transmit.connectors.http.credentials import basic, header_text
from pipelines.data.transmit.connectors.http.formats import line
from pipelines.data.transmit.events import Event
from shared.connectors.elasticsearch import SPEC, Options
from shared.contracts.documents import Destination
from shared.contracts.secrets import Secrets

_ITEM_BYTES: Final = 256
"""Generous size of the response for one event; `filter_path` leaves out what is not needed."""

_FILTER: Final = "filter_path=items.*.status,items.*.error.type"
_EXISTS: Final = 409


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
        return answers(await exchange(self._session, request, seconds, most), len(events))

    async def close(self) -> None:
        """Nothing to close: the connections belong to the session."""


def bulk(operation: str, events: Sequence[Event]) -> bytes:
    """The body: for each event a line with the action and a line with the document.

    The document's id is the delivery key (of pipe, CloudEvents source and id), so that a repeat overwrites.
    The event's id alone may occur in another source, and one of the two would be lost.
    """
    action = b'{"%b":{"_id":"%%b"}}\n%%b\n' % operation.encode()
    return b"".join([action % (event.key.hex().encode(), line(event)) for event in events])


def answers(response: HttpResponse | Answer, events: int) -> list[Answer]:
    """An answer for each event, from a bulk response."""
    if isinstance(response, Answer):
        return [response] * events
    if not response.ok:
        return [response.answer()] * events
    return answers_by_item(response, events, _items, _answer)


def _items(body: bytes) -> list[_Item]:
    return [item for each in _decoder.decode(body).items for item in each.values()]


def _answer(item: _Item) -> Answer:
    """A conflict means that an earlier try delivered the event (operation `create`)."""
    status = 200 if item.status == _EXISTS else item.status
    return Answer(status=status, detail=error_code(item.error.type) if item.error else "")


def _authorization(options: Options, secrets: Secrets) -> dict[str, str]:
    """The Authorization header.

    Raises:
        UnknownSecretError: if a secret is missing.
        BadSecretError: if it cannot be used.
    """
    if options.api_key is not None:
        return {"Authorization": f"ApiKey {header_text(secrets, options.api_key)}"}
    if options.username is not None and options.password is not None:
        return {"Authorization": basic(options.username, secrets.get(options.password).strip())}
    return {}


async def _open(context: ConnectorContext) -> Elasticsearch:
    return Elasticsearch(context.session, context.secrets)


CONNECTOR: Final = ConnectorType(spec=SPEC, open=_open)
