"""A librdkafka producer that belongs to one event loop: records are written and reports polled there.

Only this module refers to the library's object: the last reference must be dropped on a thread that may wait
for the library's own.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from shared.connectors.kafka import Server
from shared.runtime.logging import get_logger

_log = get_logger(__name__)

_POLL_SECONDS: Final = 0.005
_DRAIN_SECONDS: Final = 0.25
_REACH_SECONDS: Final = 1.0
"""How long a query waits for a broker before it looks whether it is still wanted."""

Headers = list[tuple[str, str | bytes | None]]


@dataclass(frozen=True, slots=True)
class Record:
    """A record to write."""

    key: bytes
    value: bytes
    headers: Headers


@dataclass(frozen=True, slots=True)
class Listing:
    """A cluster's brokers, and the error of the topic that was asked for."""

    brokers: list[Server]
    error: KafkaError | None
    """The topic's error, such as that it does not exist."""


Outcomes = dict[int, Exception | None]
"""The error of each record, by its position; None if it was written."""


class Client:
    """Writes records, and polls for delivery reports until the last one, even if no caller waits for it."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._producer: Producer | None = Producer(config, logger=_log)
        self._draining: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Records without a report. Each takes room in the queue until its report is polled."""
        return 0 if self._producer is None else len(self._producer)

    def poll(self) -> None:
        """Take the reports and errors that have arrived."""
        if self._producer is not None:
            self._producer.poll(0)

    def query(self, topic: str, seconds: float) -> Callable[[threading.Event], Listing]:
        """A function that asks the cluster for its brokers and a topic; call it on a thread: it waits.

        It ends early when the event is set and no broker has been reached.
        """
        return partial(self._ask, topic, seconds)

    async def write(self, topic: str, records: Sequence[Record], until: float) -> Outcomes:
        """Write records, and wait for their reports until a time on the loop's clock.

        Records without a report by then have no outcome; they may be written later.
        """
        loop = asyncio.get_running_loop()
        outcomes: Outcomes = {}
        self.poll()  # what was reported since the last call makes room
        for at, record in enumerate(records):
            error = self._produce(topic, record, partial(_report, outcomes, at))
            if error is not None:
                outcomes[at] = error
        try:
            while len(outcomes) < len(records) and loop.time() < until and self._producer is not None:
                self.poll()
                if len(outcomes) < len(records):
                    await asyncio.sleep(_POLL_SECONDS)
        finally:
            self._drain()
        return dict(outcomes)  # later reports are ignored

    def purge(self) -> None:
        """Give up all records that are not written yet."""
        if self._producer is not None:
            self._producer.purge(blocking=False)

    def retire(self) -> Callable[[], None]:
        """Use it no more; the result destroys it: to be called on a thread, because it waits."""
        if self._draining is not None:
            self._draining.cancel()
        held = [] if self._producer is None else [self._producer]
        self._producer = None
        return partial(_destroy, held)

    def _ask(self, topic: str, seconds: float, stopped: threading.Event) -> Listing:
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            try:
                return self._listed(topic, min(max(0.0, left), _REACH_SECONDS))
            except KafkaException as error:
                if (
                    error.args[0].code() == KafkaError._TIMED_OUT
                ):  # a broker was reached: it gets all the time
                    return self._listed(topic, max(0.0, until - time.monotonic()))
                if left <= _REACH_SECONDS or stopped.is_set():
                    raise

    def _listed(self, topic: str, seconds: float) -> Listing:
        """Fewer than 0 seconds would be for ever.

        Without a variable for the library's object, which the traceback of an error would keep.
        """
        if self._producer is None:
            raise KafkaException(KafkaError(KafkaError._DESTROY))
        found = self._producer.list_topics(topic, seconds)
        brokers = [(each.host, each.port) for each in found.brokers.values()]
        return Listing(brokers, found.topics[topic].error)

    def _produce(
        self, topic: str, record: Record, report: Callable[[KafkaError | None, Message], None]
    ) -> Exception | None:
        """Queue a record; polls and tries once more if the queue is full."""
        full: BufferError | None = None
        for _ in range(2):
            if self._producer is None:
                break
            try:
                self._producer.produce(
                    topic, record.value, record.key, headers=record.headers, on_delivery=report
                )
            except BufferError as error:
                full = error
                self.poll()
            except KafkaException as error:
                return error
            else:
                return None
        return full

    def _drain(self) -> None:
        """Poll while any record has no report: a full queue would otherwise stay full."""
        if self.waiting and (self._draining is None or self._draining.done()):
            self._draining = asyncio.get_running_loop().create_task(self._drained())

    async def _drained(self) -> None:
        while self.waiting:
            await asyncio.sleep(_DRAIN_SECONDS)
            self.poll()


def _report(outcomes: Outcomes, at: int, error: KafkaError | None, _message: Message) -> None:
    """Delivery report; called by `poll`, so on the loop."""
    outcomes[at] = None if error is None else KafkaException(error)


def _destroy(held: list[Producer]) -> None:
    """Drop the last reference here, because destroying a producer blocks."""
    while held:
        held.pop().purge(blocking=False)
