"""`outbound` -> destinations -> `receipts`: parallel keep-alive requests, one receipt a request.

A request that fails is tried again a few times; then its events go to `dead_letter`.
"""

import http.client
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from urllib.parse import SplitResult, urlsplit

import msgspec
from confluent_kafka import Message

from scripts.experiments.baseline.hop import HeaderList, Output, attributes_of, header_list
from shared.contracts import headers
from shared.contracts.documents import Batch, Catalogue, Destination, TenantName
from shared.contracts.envelope import structured
from shared.contracts.receipts import Receipt, pack_keys
from shared.contracts.topics import Topic
from shared.runtime.clock import wall_clock

TRIES = 3
PAUSE_SECONDS = 0.1
_CONTENT_TYPE = {"Content-Type": "application/cloudevents-batch+json"}


class Outgoing(msgspec.Struct, frozen=True):
    """An `outbound` record with the headers and body that a request and a receipt need."""

    message: Message
    headers: dict[str, bytes]
    body: bytes


class Answer(msgspec.Struct, frozen=True):
    """How a request ended: its last status, None if there was no response."""

    status: int | None
    tries: int


class Transmit:
    """Sends batches to their destinations, at most `workers` requests at once."""

    def __init__(self, catalogue: Callable[[], Catalogue], workers: int = 4) -> None:
        self._catalogue = catalogue
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="request")
        self._local = threading.local()

    def __call__(self, messages: Sequence[Message]) -> Iterator[Output]:
        """Receipts and dead letters of some records, after all their requests were answered."""
        catalogue = self._catalogue()
        groups: dict[TenantName, list[Outgoing]] = {}
        for message in messages:
            outgoing = _outgoing(message)
            tenant, pipe = (outgoing.headers[name].decode() for name in (headers.TENANT, headers.PIPE))
            groups.setdefault((tenant, pipe), []).append(outgoing)
        requests = [
            (pipe, batch)
            for pipe, events in groups.items()
            for batch in batches(events, _destination(catalogue, pipe).batch)
        ]
        results = self._pool.map(lambda request: self._send(catalogue, *request), requests)
        return chain.from_iterable(results)

    def _send(self, catalogue: Catalogue, pipe: TenantName, events: Sequence[Outgoing]) -> list[Output]:
        destination = _destination(catalogue, pipe)
        body = b"[" + b",".join(event.body for event in events) + b"]"
        answer = self._post(destination, body)
        outputs = [_receipt(destination, pipe[1], events, answer, wall_clock())]
        if not _delivered(answer):
            outputs.extend(_dead_letter(event, answer) for event in events)
        return outputs

    def _post(self, destination: Destination, body: bytes) -> Answer:
        status = None
        for turn in range(1, TRIES + 1):
            status = self._try(destination, body)
            if status is not None and status < 500:
                return Answer(status, turn)
            time.sleep(PAUSE_SECONDS * turn)
        return Answer(status, TRIES)

    def _try(self, destination: Destination, body: bytes) -> int | None:
        url = urlsplit(destination.options["url"])
        connection = self._connection(url, destination.timeout_seconds)
        try:
            path = (url.path or "/") + (f"?{url.query}" if url.query else "")
            connection.request("POST", path, body, _CONTENT_TYPE | destination.options.get("headers", {}))
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()  # the next try opens a new one
            return None
        return answer.status

    def _connection(self, url: SplitResult, timeout: float) -> http.client.HTTPConnection:
        """This thread's own connection to the destination, kept alive between requests."""
        kept: dict[str, http.client.HTTPConnection] = self._local.__dict__
        if url.netloc not in kept:
            make = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
            kept[url.netloc] = make(url.netloc, timeout=timeout)
        return kept[url.netloc]


def batches(events: Iterable[Outgoing], limit: Batch) -> Iterator[list[Outgoing]]:
    """Events in order, split where a request would exceed the destination's limits."""
    batch: list[Outgoing] = []
    size = 0
    for event in events:
        if batch and (len(batch) == limit.max_events or size + len(event.body) > limit.max_bytes):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += len(event.body) + 1
    if batch:
        yield batch


def _outgoing(message: Message) -> Outgoing:
    given = dict(header_list(message))
    return Outgoing(message, given, structured(attributes_of(given), message.value()))


def _delivered(answer: Answer) -> bool:
    return answer.status is not None and 200 <= answer.status < 300


def _destination(catalogue: Catalogue, pipe: TenantName) -> Destination:
    return catalogue.destinations[pipe[0], catalogue.pipes[pipe].destination]


def _receipt(
    destination: Destination, pipe: str, events: Sequence[Outgoing], answer: Answer, now_ms: int
) -> Output:
    receipt = Receipt(
        destination=destination.name,
        tenant=destination.tenant,
        pipe=pipe,
        result="delivered" if _delivered(answer) else "dead",
        ids=[event.headers[headers.CE_ID].decode() for event in events],
        minutes=[int(event.headers[headers.MINUTE]) for event in events],
        status=answer.status,
        tries=answer.tries,
        attempt=1,
        received_ms=[int(event.headers[headers.RECEIVED]) for event in events],
        departed_ms=now_ms,
    )
    keys = pack_keys(event.message.key() or b"" for event in events)
    listed: HeaderList = [(headers.DELIVERED, keys)] if receipt.result == "delivered" else []
    return Output(Topic.RECEIPTS, msgspec.json.encode(receipt), listed)


def _dead_letter(event: Outgoing, answer: Answer) -> Output:
    added = [
        (headers.REASON, b"failed: no success within the tries"),
        (headers.STATUS, str(answer.status or "").encode()),
    ]
    return Output(
        Topic.DEAD_LETTER, event.message.value(), [*event.headers.items(), *added], event.message.key()
    )
