"""A rehearsal: the chain's queries on topics of their own, until they are fast.

Who rehearses (a standby driver, an executor that is to be one more) makes the events itself, and is their
destination. What the JVM compiled, and a standby's Python workers with their tables, are then there for the
queries on the side's own topics. One process of a side rehearses at a time.
"""

import asyncio
import itertools
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from aiohttp import web
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from scripts.local.addresses import HOST
from scripts.local.warmup.receiver import WarmUpReceiver
from scripts.local.warmup.warmup import WARM_P95_MS, own_documents
from shared.contracts.documents import WARM_UP
from shared.contracts.envelope import MINUTE_MS, CollectedItem, collected_item, encode_items
from shared.contracts.headers import RECEIVED, SOURCE, TENANT
from shared.contracts.publish_plan import Records, records_of, tombstones_of
from shared.contracts.timestamps import format_time
from shared.contracts.topics import REHEARSAL, Topic
from shared.kafka.config_topic import publish
from shared.kafka.producer import logging_client, producer_config
from shared.runtime.clock import wall_clock
from shared.runtime.logging import get_logger
from shared.runtime.percentiles import percentile_95
from shared.runtime.settings import SparkSettings
from shared.spark.application import Build

_log = get_logger(__name__)
_NAME: Final = "hifi-rehearsal"
_PUBLISH_SECONDS: Final = 30.0
_LEAST_SECONDS: Final = 45.0
_MOST_SECONDS: Final = 75.0
_FIRST_SECONDS: Final = 180.0
"""A cold Spark plans its first batch in seconds, but in minutes where others need the cores too."""

_TURN_SECONDS: Final = 0.05
_TURNS_A_LOOK: Final = 20
_PADDING: Final = "x" * 300

_BATCH_MS: Final = 250
"""Planning a batch is code that has to be compiled, too: it is done as often as possible."""

_LEAST_BATCH: Final = "spark.sql.streaming.realTimeMode.minBatchDuration"

RATES: Final = {1: 250, 50: 5}
"""Records a second with so many events each: few enough to leave the cores to customers' events."""


class ChainRehearsal:
    """Rehearses queries."""

    def __init__(self, builds: Sequence[Build], settings: SparkSettings, port: int) -> None:
        """Rehearse these queries, started in this order, with a destination on a port of this machine.

        Port 0 takes a free one.
        """
        self._builds, self._settings, self._port = builds, settings, port

    def run(self, spark: SparkSession, ended: Callable[[], bool]) -> None:
        """Rehearse until the chain is fast, for a minute or so at most; a failure leaves the JVM cold."""
        folder = tempfile.mkdtemp(prefix="rehearsal-")
        try:
            with _short_batches(spark):
                asyncio.run(self._run(spark, folder, ended))
        except Exception:  # what takes over cold is better than what does not wait
            _log.exception("rehearsal failed: going on without being warm")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _run(self, spark: SparkSession, folder: str, ended: Callable[[], bool]) -> None:
        settings = self._settings.model_copy(
            update={
                "checkpoints": folder,
                "rehearsal": REHEARSAL,
                "ingest_batch": f"{_BATCH_MS} milliseconds",
                "route_batch": f"{_BATCH_MS} milliseconds",
            }
        )
        async with self._destination() as sink:
            queries: list[StreamingQuery] = []
            try:
                for build in self._builds:
                    if not ended():
                        queries.append(await asyncio.to_thread(build, spark, settings))
                await self._until_warm(sink, queries, ended)
            finally:
                for query in queries:
                    await asyncio.to_thread(query.stop)

    @asynccontextmanager
    async def _destination(self) -> AsyncIterator[WarmUpReceiver]:
        """A destination with a pipe to it; events come to it from this rehearsal alone."""
        sink = WarmUpReceiver()
        runner = web.AppRunner(sink.application(), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, HOST, self._port).start()
        _, port = runner.addresses[0]
        documents = own_documents(_NAME, f"{_NAME}-key", f"http://{HOST}:{port}/")
        try:
            await asyncio.to_thread(self._publish, records_of(documents))
            yield sink
        finally:
            await asyncio.to_thread(self._publish, tombstones_of(documents))
            await runner.cleanup()

    def _publish(self, records: Records) -> None:
        publish(self._settings.bootstrap, _NAME, records, _PUBLISH_SECONDS)

    async def _until_warm(
        self, sink: WarmUpReceiver, queries: Sequence[StreamingQuery], ended: Callable[[], bool]
    ) -> None:
        producer = logging_client(producer_config(self._settings.bootstrap, _NAME))
        began, sent = time.monotonic(), dict.fromkeys(RATES, 0)
        for turn in itertools.count():
            if ended() or _finished(elapsed := time.monotonic() - began, sink.window()):
                break
            if turn % _TURNS_A_LOOK == 0 and not all(query.isActive for query in queries):
                raise RuntimeError("a query has ended by itself")
            for size, rate in RATES.items():
                for _ in range(int(elapsed * rate) - sent[size]):
                    sent[size] += 1
                    producer.produce(
                        REHEARSAL + Topic.COLLECTED, value=encode_items(_events(size)), headers=_headers()
                    )
            producer.poll(0)
            await asyncio.sleep(_TURN_SECONDS)
        lags = sink.window()
        found = {"events": len(sink.ids), "p95_ms": percentile_95(lags) if lags else None}
        _log.info("rehearsed", extra=found | {"seconds": round(time.monotonic() - began)})


@contextmanager
def _short_batches(spark: SparkSession) -> Iterator[None]:
    former = spark.conf.get(_LEAST_BATCH)
    spark.conf.set(_LEAST_BATCH, f"{_BATCH_MS}ms")
    try:
        yield
    finally:
        spark.conf.set(_LEAST_BATCH, str(former))


def _finished(elapsed: float, lags_ms: Sequence[int]) -> bool:
    if elapsed < _LEAST_SECONDS or not lags_ms:
        return elapsed > _FIRST_SECONDS
    return elapsed > _MOST_SECONDS or percentile_95(lags_ms) < WARM_P95_MS


def _headers() -> list[tuple[str, str | bytes | None]]:
    return [(TENANT, WARM_UP.encode()), (SOURCE, _NAME.encode()), (RECEIVED, b"%d" % wall_clock())]


_numbers = itertools.count()


def _events(count: int) -> list[CollectedItem]:
    """Events with an id that starts with the time they were made, as `WarmUpReceiver` expects."""
    now_ms = wall_clock()
    return [
        collected_item(
            {
                "id": f"{now_ms}-{next(_numbers)}",
                "source": f"/{_NAME}",
                "type": "hifi.rehearsal",
                "time": format_time(now_ms),
            },
            minute=now_ms // MINUTE_MS,
            data=f'{{"padding":"{_PADDING}"}}',
        )
        for _ in range(count)
    ]
