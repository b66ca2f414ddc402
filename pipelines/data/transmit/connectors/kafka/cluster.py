"""Customers' Kafka clusters: one librdkafka producer for each, with checks of the addresses it dials.

librdkafka resolves names and opens connections itself. So before it sends an event, hifi checks the addresses
of the bootstrap servers and of all brokers that the cluster names, and the latter again every minute. It
cannot prevent that librdkafka connects to a broker as soon as it is named, nor detect a name that resolves
differently for librdkafka, or a broker named within that minute. TLS protects against these: except for
loopback it is required, so that a server without a certificate for the name receives only a TLS greeting.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.http.client import clean
from pipelines.data.transmit.connectors.kafka.access import LOOK_SECONDS, Access, producer_config
from pipelines.data.transmit.connectors.kafka.client import Client, Outcomes, Record
from pipelines.data.transmit.connectors.kafka.errors import DENIED, TIMEOUTS, TOO_LARGE, answer_of
from pipelines.data.transmit.connectors.kafka.threads import TenantThreads
from shared.connectors.kafka import Server
from shared.contracts.egress_policy import EgressPolicy, is_loopback
from shared.runtime.egress import RefusedAddressError, check_addresses
from shared.runtime.logging import get_logger

_log = get_logger(__name__)

_POLL_SECONDS: Final = 0.005
_GRACE_SECONDS: Final = 0.2
_QUERY_SECONDS: Final = 5.0
"""Timeout of a query, which occupies a thread so long if the cluster hangs; the next uses its connection."""


class NeedsTlsError(Exception):
    """A cluster without TLS is not on this machine."""


class KafkaCluster:
    """A cluster's producer, created when first needed. For one event loop, which also polls its reports."""

    def __init__(self, access: Access, egress: EgressPolicy, threads: TenantThreads) -> None:
        self._access = access
        self._egress = egress
        self._threads = threads
        self._turns = asyncio.Semaphore(1), threads.turns(access.tenant)
        self._client: Client | None = None
        self._single: Client | None = None
        self._opening = asyncio.Lock()
        self._looked = 0.0
        self._topics: set[str] = set()
        self._refused: Answer | None = None
        self._denied: KafkaError | None = None
        self._down: KafkaError | None = None
        self._looking: asyncio.Task[None] | None = None
        self.used = 0.0
        """When it was last used, on the loop's clock."""

    @property
    def topics(self) -> int:
        """How many topics it has written to. The client library keeps each of them until it is closed."""
        return len(self._topics)

    async def send(self, topic: str, records: Sequence[Record], seconds: float) -> Sequence[Answer]:
        """Write records with acks=all; gives an answer for each."""
        loop = asyncio.get_running_loop()
        self.used, until = loop.time(), loop.time() + seconds
        try:
            async with asyncio.timeout_at(until):
                client = await self._open(topic, seconds)
        except (OSError, KafkaException, NeedsTlsError) as error:
            return [self._failure(error)] * len(records)
        self._look_again(client, topic)
        if self._refused is not None:
            return [self._refused] * len(records)
        answers = self._answers(await client.write(topic, records, until))
        large = [at for at, answer in answers.items() if answer.status == TOO_LARGE]
        if large:
            for at in large:  # of one that is not answered alone, only its batch is known to be too large
                del answers[at]
            alone = await self._alone().write(topic, [records[at] for at in large], until)
            answers |= {large[at]: answer for at, answer in self._answers(alone).items()}
        silence = self._silence()
        return [answers.get(at, silence) for at in range(len(records))]

    async def close(self) -> None:
        """Discard unwritten records; their callers have timed out already."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait((self._looking,))
        await self._drop()

    async def _open(self, topic: str, seconds: float) -> Client:
        """The client, after the cluster's brokers were checked."""
        async with self._opening:
            if self._client is None or topic not in self._topics:
                await self._check(self._access.servers)
                if self._client is None:
                    self._client = Client(producer_config(self._access, self._error))
                try:
                    await self._look(self._client, topic, seconds)
                except (RefusedAddressError, NeedsTlsError):
                    await self._drop()
                    raise
            return self._client

    async def _drop(self) -> None:
        """Destroy the clients on a thread, because that waits for their own threads."""
        held = [client for client in (self._client, self._single) if client is not None]
        self._client = self._single = None
        self._topics.clear()
        await asyncio.gather(*(self._threads.close(each.retire()) for each in held))

    async def _look(self, client: Client, topic: str, seconds: float) -> None:
        """Check which brokers the cluster names.

        Raises:
            RefusedAddressError: if one of them must not be dialled.
            KafkaException: if the cluster returns an error, or does not have the topic.
            TimeoutError: if it does not answer.
        """
        loop = asyncio.get_running_loop()
        self._denied = self._down = None
        query = client.query(topic, min(seconds, _QUERY_SECONDS))
        listing = await self._threads.start(self._turns, query)
        listing.add_done_callback(_seen)
        try:
            found = await self._polled(client, listing)
        except KafkaException as error:
            if error.args[0].code() == KafkaError._TRANSPORT:  # no broker could be reached in all that time
                raise TimeoutError from error
            raise
        await self._check([(broker.host, broker.port) for broker in found.brokers.values()])
        if found.topics[topic].error is not None:
            raise KafkaException(found.topics[topic].error)
        self._looked = loop.time()
        self._topics.add(topic)

    async def _polled(self, client: Client, work: asyncio.Future[Any]) -> Any:
        """Poll the client's errors while it works: only they report a wrong password."""
        try:
            while not work.done():
                await asyncio.wait((work,), timeout=_POLL_SECONDS)
                client.poll()
                if problem := self._denied or self._down:
                    # an error that explains the failure may still be under way
                    await asyncio.wait((work,), timeout=_GRACE_SECONDS)
                    if not work.done():
                        raise KafkaException(problem)
            return work.result()
        finally:
            work.cancel()

    async def _check(self, servers: Sequence[Server]) -> None:
        for host, port in servers:
            await check_addresses(host, port, self._egress)
            if not self._access.tls and not is_loopback(host):
                raise NeedsTlsError

    def _look_again(self, client: Client, topic: str) -> None:
        """Check the cluster's brokers again from time to time while sending goes on."""
        loop = asyncio.get_running_loop()
        due = loop.time() - self._looked > LOOK_SECONDS
        if due and (self._looking is None or self._looking.done()):
            self._looked = loop.time()
            self._looking = loop.create_task(self._second_look(client, topic))

    async def _second_look(self, client: Client, topic: str) -> None:
        try:
            await self._look(client, topic, self._access.timeout_seconds)
            self._refused = None
        except (RefusedAddressError, NeedsTlsError) as error:
            self._refused = self._failure(error)
            client.purge()
        except (OSError, KafkaException) as error:  # a timeout too; the next record will show it
            _log.info("brokers of a destination's cluster not checked", extra={"error": type(error).__name__})

    def _answers(self, outcomes: Outcomes) -> dict[int, Answer]:
        if None in outcomes.values():
            self._denied = None
        return {
            at: Answer(status=200) if error is None else self._failure(error)
            for at, error in outcomes.items()
        }

    def _alone(self) -> Client:
        """A client with batches of one record: brokers do not say which record of a batch is too large."""
        if self._single is None:
            self._single = Client(producer_config(self._access, self._error) | {"batch.num.messages": 1})
        return self._single

    def _error(self, error: KafkaError) -> None:
        """An error that concerns no single record; called by `poll`."""
        if error.code() in DENIED:
            self._denied = error
        elif error.code() == KafkaError._ALL_BROKERS_DOWN:
            self._down = error

    def _silence(self) -> Answer:
        """The answer if there was no report in time; the cause may be a wrong password."""
        if self._denied is not None:
            return answer_of(self._denied)
        return Answer(error=f"timeout: no answer within {self._access.timeout_seconds:g} s")

    def _failure(self, error: Exception) -> Answer:
        match error:
            case RefusedAddressError():
                return Answer(error=f"refused_address: `bootstrap_servers` {error}", hopeless=True)
            case NeedsTlsError():
                return Answer(
                    error="tls_needed: without `tls` only brokers on this machine are allowed", hopeless=True
                )
            case BufferError():
                return Answer(error="busy: too many events are waiting for this cluster", later=True)
            case TimeoutError():
                return self._silence()
            case KafkaException():
                found = error.args[0]
                return self._silence() if found.code() in TIMEOUTS else answer_of(found)
        return Answer(error=clean(f"unreachable: {type(error).__name__}: {error}"))


def _seen(work: asyncio.Future[Any]) -> None:
    """Mark a failure as seen that no caller waits for."""
    if not work.cancelled():
        work.exception()
