"""Kafka producers, with the settings that make writes durable."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from shared.contracts.limits import MAX_RECORD_BYTES
from shared.contracts.topics import Topic
from shared.runtime.kafka_config import client_config
from shared.runtime.logging import get_logger

Headers = Sequence[tuple[str, str | bytes | None]]
_Report = tuple[asyncio.Future[None], KafkaError | None]
_OnDelivery = Callable[[KafkaError | None, Message], None]

_log = get_logger(__name__)
_POLL_SECONDS = 0.5
_FLUSH_SECONDS = 10.0
_ANSWER_SECONDS = 5.0


def producer_config(bootstrap: str, client_id: str) -> dict[str, Any]:
    """librdkafka settings of every hifi producer.

    librdkafka's defaults are not idempotent and wait five minutes; callers that wait for an acknowledgement
    need a result within a minute.
    """
    return client_config(bootstrap) | {
        "client.id": client_id,
        "acks": "all",
        "enable.idempotence": True,
        "compression.type": "lz4",
        "delivery.timeout.ms": 60_000,
        "socket.timeout.ms": 10_000,
        "socket.connection.setup.timeout.ms": 5_000,
        "reconnect.backoff.max.ms": 1_000,
        "topic.metadata.refresh.interval.ms": 60_000,
        "partitioner": "murmur2_random",
        "message.max.bytes": MAX_RECORD_BYTES,
        "linger.ms": 5,
        # With more in flight, librdkafka's broker thread polls without a pause while that many are unanswered
        # and more wait: brokers stopped for 10 s cost 110 % of a core, against 2 % with one.
        "max.in.flight": 1,
    }


def logging_client(config: dict[str, Any]) -> Producer:
    """A librdkafka producer that logs through this process's logger."""
    return Producer(config, logger=_log)


def is_fatal(error: KafkaException) -> bool:
    """Whether the client that raised it takes no more, as after a broken idempotent sequence."""
    return bool(error.args[0].code() == KafkaError._FATAL)


class NotWrittenError(Exception):
    """The write of a record was not acknowledged. It may have been written all the same."""


class AwaitedProducer:
    """One client, one poll thread, any number of waiting requests on one loop.

    `flush` per request would ignore linger and wait for the records of all requests. Here each request waits
    only for its own delivery reports, and all reports of one poll wake the loop once.
    """

    def __init__(
        self,
        config: dict[str, Any],
        ack_seconds: float,
        make_client: Callable[[dict[str, Any]], Producer] = logging_client,
    ) -> None:
        """Start the client; `ack_seconds` is how long a caller waits for its records' acknowledgement."""
        self._config = config
        self._ack_seconds = ack_seconds
        self._loop = asyncio.get_running_loop()
        self._reports: list[_Report] = []
        self._waiting = 0
        self._last_sign = time.monotonic()
        self._stopping = threading.Event()
        self._make_client = make_client
        self._spent: list[Producer] = []
        self._client = make_client(config)
        self._thread = threading.Thread(target=self._run, name="producer-poll", daemon=True)
        self._thread.start()

    @property
    def stalled(self) -> bool:
        """Whether records that callers wait for are queued, and none was acknowledged for `ack_seconds`.

        Accepting more would only fill the queue: those records would time out too, and be written twice when
        the brokers are back. It ends with the first acknowledgement, or when the queued records time out.
        """
        return self._waiting > 0 and time.monotonic() - self._last_sign > self._ack_seconds

    async def send(self, topic: Topic, values: Iterable[bytes], headers: Headers) -> None:
        """Write records and return when the brokers have acknowledged all of them.

        Raises:
            NotWrittenError: the local queue is full, a write failed, or `ack_seconds` passed.
        """
        futures: list[asyncio.Future[None]] = []
        try:
            for value in values:
                futures.append(self._produce(topic, value, headers))
            async with asyncio.timeout(self._ack_seconds):
                for future in futures:
                    await future
        except TimeoutError as error:
            raise NotWrittenError("the brokers did not acknowledge in time") from error
        except (BufferError, KafkaException) as error:
            raise NotWrittenError(str(error)) from error
        finally:
            _abandon(futures)

    def offer(self, topic: Topic, values: Iterable[bytes]) -> None:
        """Queue records that may be lost: what the brokers do not take in time is dropped.

        They do not count for `stalled`: the partitions of other topics may take what a caller waits for.
        """
        try:
            for value in values:
                self._queue(topic, value, (), _ignored)
        except (BufferError, KafkaException) as error:
            _log.info("records dropped", extra={"topic": topic, "error": str(error)})

    async def answers(self, topic: Topic) -> bool:
        """Whether the brokers answer and have the topic."""
        try:
            found = await asyncio.to_thread(self._client.list_topics, topic, _ANSWER_SECONDS)
        except KafkaException as error:
            _log.warning("brokers do not answer", extra={"error": str(error)})
            return False
        return bool(found.topics[topic].partitions)

    async def close(self) -> None:
        """Stop the poll thread, then write what is queued. No caller may be waiting."""
        self._stopping.set()
        await asyncio.to_thread(self._thread.join)
        left = await asyncio.to_thread(self._client.flush, _FLUSH_SECONDS)
        if left:
            _log.warning(
                "records not written when the producer closed; none of them was acknowledged",
                extra={"records": left},
            )

    def _produce(self, topic: Topic, value: bytes, headers: Headers) -> asyncio.Future[None]:
        future = self._loop.create_future()
        self._queue(topic, value, headers, partial(self._report, future))
        if self._waiting == 0:
            self._last_sign = time.monotonic()  # measured from the first queued record
        self._waiting += 1
        return future

    def _queue(self, topic: Topic, value: bytes, headers: Headers, report: _OnDelivery) -> None:
        try:
            self._client.produce(topic, value, headers=list(headers), on_delivery=report)
        except KafkaException as error:
            if is_fatal(error):
                self._renew()
            raise

    def _report(self, future: asyncio.Future[None], error: KafkaError | None, _message: Message) -> None:
        """Delivery report; the client calls it inside `poll`, so on the poll thread."""
        self._reports.append((future, error))

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._client.poll(_POLL_SECONDS)
            self._bury()
            if self._reports:
                reports, self._reports = self._reports, []
                self._loop.call_soon_threadsafe(self._resolve, reports)

    def _resolve(self, reports: list[_Report]) -> None:
        self._waiting -= len(reports)
        if any(error is None for _, error in reports):
            self._last_sign = time.monotonic()
        for future, error in reports:
            if future.done():  # its request no longer waits
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(KafkaException(error))

    def _renew(self) -> None:
        """Replace a client after a fatal error, such as a broken idempotent sequence."""
        _log.error("fatal error of the Kafka producer; replacing it")
        spent, self._client = self._client, self._make_client(self._config)
        spent.purge(blocking=False)
        self._spent.append(spent)

    def _bury(self) -> None:
        """Poll replaced clients until they have reported their purged records, then drop them."""
        for client in tuple(self._spent):
            client.poll(0)
            if not len(client):
                self._spent.remove(client)


def _ignored(_error: KafkaError | None, _message: Message) -> None:
    """The delivery report of a record that may be lost."""


def _abandon(futures: Iterable[asyncio.Future[None]]) -> None:
    """Cancel futures, and mark the errors of finished ones as seen."""
    for future in futures:
        if not future.cancel() and not future.cancelled():
            future.exception()
