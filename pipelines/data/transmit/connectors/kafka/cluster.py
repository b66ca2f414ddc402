"""A librdkafka producer for a customer's Kafka cluster, with checks of the addresses that it dials.

librdkafka resolves names and opens connections itself. So before it sends an event, hifi checks the addresses
of the bootstrap servers and of all brokers that the cluster names, and the latter again every minute. It
cannot prevent that librdkafka connects to a broker as soon as it is named, nor detect a name that resolves
differently for librdkafka, or a broker named within that minute. TLS protects against these: except for
loopback it is required, so that a server without a certificate for the name receives only a TLS greeting.

Nor can it prevent that librdkafka starts a thread for each named broker, up to 10,000. Asking first over a
separate connection would not help: a hostile cluster would answer the next request differently. So a client
is destroyed at once if its cluster names too many.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from aiohttp.abc import AbstractResolver
from confluent_kafka import KafkaError, KafkaException

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.kafka.access import LOOK_SECONDS, Access, producer_config
from pipelines.data.transmit.connectors.kafka.brokers import (
    NeedsTlsError,
    TooManyBrokersError,
    check_brokers,
)
from pipelines.data.transmit.connectors.kafka.client import Client, Listing, Outcomes, Record
from pipelines.data.transmit.connectors.kafka.errors import DENIED, answer_of, failure_of
from pipelines.data.transmit.connectors.kafka.threads import TenantThreads
from shared.connectors.kafka import Server
from shared.contracts.egress_policy import EgressPolicy
from shared.runtime.egress import RefusedAddressError
from shared.runtime.logging import get_logger

T = TypeVar("T")
_log = get_logger(__name__)

_POLL_SECONDS: Final = 0.005
_GRACE_SECONDS: Final = 0.2
_QUERY_SECONDS: Final = 10.0
"""Timeout of a query, which occupies a thread so long if the cluster hangs: the longest of a destination."""


class KafkaCluster:
    """A cluster's producer, created when first needed. For one event loop, which also polls its reports."""

    def __init__(
        self, access: Access, egress: EgressPolicy, resolver: AbstractResolver, threads: TenantThreads
    ) -> None:
        self._access = access
        self._egress = egress
        self._resolver = resolver
        self._threads = threads
        self._turns = asyncio.Semaphore(1), threads.turns(access.tenant)
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self._looked = 0.0
        self._topics: set[str] = set()
        self._good = False
        """Whether the brokers that the cluster named last were good."""

        self._refused: Answer | None = None
        self._many = 0
        """How many brokers it named, if that was too many."""

        self._denied: KafkaError | None = None
        self._down: KafkaError | None = None
        self._looking: asyncio.Task[None] | None = None
        self._sends = 0
        """Calls under way."""

        self._used = 0.0

    @property
    def access(self) -> Access:
        """The cluster's address and credentials."""
        return self._access

    @property
    def topics(self) -> int:
        """How many topics it has written to. The client library keeps each of them until it is closed."""
        return len(self._topics)

    async def send(self, topic: str, records: Sequence[Record], seconds: float) -> Sequence[Answer]:
        """Write records with acks=all; gives an answer for each."""
        loop = asyncio.get_running_loop()
        self._sends += 1
        try:
            return await self._send(topic, records, loop.time() + seconds)
        finally:
            self._sends -= 1
            self._used = loop.time()

    def is_idle_since(self, moment: float) -> bool:
        """Whether it was not used since a time on the loop's clock."""
        return not self._sends and self._used <= moment

    async def _send(self, topic: str, records: Sequence[Record], until: float) -> Sequence[Answer]:
        try:
            async with asyncio.timeout_at(until):
                client = await self._open(topic)
        except (OSError, KafkaException, NeedsTlsError, TooManyBrokersError) as error:
            return [self._failure(error)] * len(records)
        self.look_again(topic)
        if self._refused is not None:
            return [self._refused] * len(records)
        answers = self._answers(await client.write(topic, records, until))
        silence = self._silence()
        return [answers.get(at, silence) for at in range(len(records))]

    def look_again(self, topic: str) -> None:
        """Check the cluster's brokers again if a minute has passed; sending goes on meanwhile."""
        loop = asyncio.get_running_loop()
        due = loop.time() - self._looked > LOOK_SECONDS
        if due and self._client is not None and not self._opening.locked() and self._looking is None:
            self._looked = loop.time()
            self._begin(self._second_look(self._client, topic))

    async def close(self) -> None:
        """Discard unwritten records; their callers have timed out already."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait((self._looking,))
        await self._drop()

    async def _open(self, topic: str) -> Client:
        """The client, after the cluster's brokers were checked.

        A look goes on when its caller gives up: nothing else would notice what the cluster names. The next
        caller waits for the same one.
        """
        loop = asyncio.get_running_loop()
        async with self._opening:
            if topic not in self._topics:
                if self._looking is not None:
                    await asyncio.wait((self._looking,))
                if self._many and loop.time() - self._looked <= LOOK_SECONDS:
                    raise TooManyBrokersError(self._many)
            if topic not in self._topics:
                await self._check(self._access.servers)
                listing = await self._threads.start(self._turns, partial(self._query, topic))
                await asyncio.shield(self._begin(self._first_look(topic, listing)))
            assert self._client is not None, "it has topics"
            return self._client

    def _query(self, topic: str) -> Callable[[threading.Event], Listing]:
        """A query; also makes the client, which connects by itself: so not before it is looked at."""
        if self._client is None:
            self._client = Client(producer_config(self._access, self._error))
        return self._client.query(topic, _QUERY_SECONDS)

    def _begin(self, look: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self._looking = asyncio.get_running_loop().create_task(look)
        self._looking.add_done_callback(self._ended)
        return self._looking

    def _ended(self, look: asyncio.Task[None]) -> None:
        """Forget a look: its error refers to the records of those that waited for it."""
        _seen(look)
        if self._looking is look:
            self._looking = None

    async def _drop(self) -> None:
        """Destroy the client on a thread, because that waits for the client's own threads."""
        client, self._client = self._client, None
        self._good = False
        self._topics.clear()
        if client is not None:
            await self._threads.close(client.retire())

    async def _first_look(self, topic: str, listing: asyncio.Future[Listing]) -> None:
        """A look that a caller waits for; without good brokers it destroys the client."""
        try:
            await self._look(topic, listing)
        finally:
            if not self._good:  # also if it did not answer: it may have named any number
                await self._drop()

    async def _look(self, topic: str, listing: asyncio.Future[Listing]) -> None:
        """Check which brokers the cluster names.

        Raises:
            TooManyBrokersError: if they are too many.
            RefusedAddressError: if one of them must not be dialled.
            KafkaException: if the cluster returns an error, or does not have the topic.
            TimeoutError: if it does not answer.
        """
        self._denied = self._down = None
        listing.add_done_callback(_seen)
        try:
            found = await self._polled(listing)
        except KafkaException as error:
            if error.args[0].code() == KafkaError._TRANSPORT:  # no broker could be reached in all that time
                raise TimeoutError from error
            raise
        self._looked = asyncio.get_running_loop().time()
        self._good = False
        await self._check(found.brokers)
        self._good = True
        if found.error is not None:
            raise KafkaException(found.error)
        self._topics.add(topic)

    async def _polled(self, work: asyncio.Future[T]) -> T:
        """Poll the client's errors while it works: only they report a wrong password."""
        try:
            while not work.done():
                await asyncio.wait((work,), timeout=_POLL_SECONDS)
                if self._client is not None:
                    self._client.poll()
                if problem := self._denied or self._down:
                    # an error that explains the failure may still be under way
                    await asyncio.wait((work,), timeout=_GRACE_SECONDS)
                    if not work.done():
                        raise KafkaException(problem)
            return work.result()
        finally:
            work.cancel()

    async def _check(self, servers: Sequence[Server]) -> None:
        self._many = 0
        try:
            await check_brokers(servers, self._egress, self._resolver, tls=self._access.tls)
        except TooManyBrokersError as error:
            self._many = error.named
            raise

    async def _second_look(self, client: Client, topic: str) -> None:
        try:
            await self._look(topic, await self._threads.start(self._turns, partial(self._query, topic)))
            self._refused = None
        except TooManyBrokersError:
            await self._drop()
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
        return failure_of(error, self._silence())


def _seen(work: asyncio.Future[Any]) -> None:
    """Mark a failure as seen that no caller waits for."""
    if not work.cancelled():
        work.exception()
