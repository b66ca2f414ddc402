"""A bounded synthetic load through the whole chain before a side is ready.

The JVM is fast only after it has compiled frequent code; until then p95 is seconds. The load is also the
end-to-end check: a side through which nothing passes is not ready, and the error names the hop that stops.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import aiohttp
from aiohttp import web
from confluent_kafka.admin import AdminClient

from scripts.local.addresses import HOST
from scripts.local.progress import Say
from scripts.local.side import Side
from scripts.local.warmup.backlog import Backlog, Look
from scripts.local.warmup.receiver import WarmUpReceiver
from scripts.local.warmup.requests import SyntheticLoad
from shared.contracts.document_parsing import parse
from shared.contracts.documents import WARM_UP, Catalogue, Document
from shared.contracts.publish_plan import Records, records_of, tombstones_of
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client
from shared.kafka.config_topic import publish
from shared.kafka.consumer_lag import stuck_hop, topic_ends
from shared.kafka.errors import kafka_errors_explained
from shared.runtime.errors import OperatorError
from shared.runtime.percentiles import percentile_95

_NAME: Final = "hifi-warm-up"
_KEY: Final = "hifi-warm-up-key"
_LEAST_SECONDS: Final = 15.0
WARM_UP_SECONDS: Final = 120.0
"""Default upper bound of the warm-up."""

FULL_LOAD: Final = 1_500
"""Most events in flight, a second's load: a cold chain works at full speed, and has no backlog to work off
before its lag says how fast it is."""

GENTLE_LOAD: Final = 100
"""The same beside a side that serves from the same cores, which FULL_LOAD keeps so busy that neither gets
fast: docs/performance.md, Start."""

_GENTLY: Final = 5.0
"""Factor on the upper bound of a warm-up beside a serving side, which has most of the cores. It took 42 to
292 s. A side that got traffic at a p95 of 666 ms was late in its first minute, one at 1,152 ms was undone."""

_FIRST_GENTLY: Final = 2.5
"""The same on the time of its first event."""

WARM_P95_MS: Final = 500
FIRST_SECONDS: Final = 180.0
"""A cold Spark plans its first batch in seconds, but in two minutes where others need the cores too."""

_DRAIN_SECONDS: Final = 20.0
_TURN_SECONDS: Final = 0.05
_PUBLISH_SECONDS: Final = 65.0
"""A little longer than the Kafka client's own timeout, so that the error has its reason."""


class WarmUpError(OperatorError):
    """Events do not pass through the chain; the text says where they stop."""


@dataclass(frozen=True, kw_only=True)
class WarmUpLimits:
    """Limits of a warm-up, which ends earlier if the chain is fast."""

    seconds: float = WARM_UP_SECONDS
    """Upper bound, whatever p95 is then; 0 only checks that an event passes through."""

    in_flight: int = FULL_LOAD
    """Most events that are on their way."""

    first_seconds: float = FIRST_SECONDS
    """Most seconds in which no event arrives."""


def gentle(seconds: float) -> WarmUpLimits:
    """Limits beside a side that serves, where those of another warm-up would have this upper bound."""
    return WarmUpLimits(
        seconds=_GENTLY * seconds, in_flight=GENTLE_LOAD, first_seconds=_FIRST_GENTLY * FIRST_SECONDS
    )


def warm_up(side: Side, say: Say, limits: WarmUpLimits) -> int:
    """Publish internal documents, send until p95 is low, delete the documents.

    Args:
        side: a side with all nodes ready.
        say: gets progress lines.
        limits: of the load.

    Returns:
        p95 end to end over the last five seconds, ms.

    Raises:
        WarmUpError: if nothing arrives, or the destination of the load cannot listen.
        PublishError: if the brokers do not take the documents.
        KafkaUnavailableError: if the brokers do not answer.
    """
    with kafka_errors_explained(side.bootstrap):
        return asyncio.run(_warm_up(side, say, limits))


def documents(url: str) -> tuple[Document, ...]:
    """Source, destination and pipe of the warm-up."""
    return own_documents(_NAME, _KEY, url)


def own_documents(name: str, key: str, url: str) -> tuple[Document, ...]:
    """Source, destination and pipe, all of this name, of hifi's own tenant.

    Args:
        name: of each of the three.
        key: the source's write key.
        url: where the destination is.
    """
    shared = {"name": name, "tenant": WARM_UP}
    return (
        parse({"kind": "source", **shared, "write_keys": [key]}),
        parse({"kind": "destination", **shared, "options": {"url": url}}),
        parse({"kind": "pipe", **shared, "source": name, "destination": name}),
    )


def is_warming(catalogue: Catalogue) -> bool:
    """Whether these documents are those of a side in its warm-up."""
    return (WARM_UP, _NAME) in catalogue.sources


def warm(elapsed: float, lags_ms: Sequence[int]) -> bool:
    """Whether the chain is fast enough, by the lags of the last five seconds."""
    if elapsed < _LEAST_SECONDS or not lags_ms:
        return False
    return percentile_95(lags_ms) < WARM_P95_MS


async def _warm_up(side: Side, say: Say, limits: WarmUpLimits) -> int:
    sink = WarmUpReceiver()
    runner = web.AppRunner(sink.application(), access_log=None)
    await runner.setup()
    published = documents(f"http://{HOST}:{side.sink_port}/")
    try:
        await _listen(runner, side.sink_port)
    except WarmUpError:
        await runner.cleanup()
        raise
    try:
        await asyncio.to_thread(_publish, side, records_of(published))
        return await _run(side, sink, say, limits)
    finally:
        await asyncio.to_thread(_publish, side, tombstones_of(published))
        await runner.cleanup()


async def _listen(runner: web.AppRunner, port: int) -> None:
    try:
        await web.TCPSite(runner, HOST, port).start()
    except OSError as error:
        raise WarmUpError(f"its destination cannot listen on {HOST}:{port}: {error.strerror}") from error


def _publish(side: Side, records: Records) -> None:
    """Publish as the canary does: hifi's own documents belong to no customer, so are not in the table."""
    publish(side.bootstrap, "hifi-warm-up", records, _PUBLISH_SECONDS)


async def _run(side: Side, sink: WarmUpReceiver, say: Say, limits: WarmUpLimits) -> int:
    admin = admin_client(side.bootstrap)
    before = await asyncio.to_thread(topic_ends, admin)
    connector = aiohttp.TCPConnector(limit=64)
    async with aiohttp.ClientSession(
        connector=connector, headers={"Authorization": f"Bearer {_KEY}"}
    ) as session:
        load = SyntheticLoad(session, f"{side.collect_url}/v1/events", limits.in_flight)
        since = await _first_arrival(load, sink, say, admin, limits.first_seconds, before)
        if not sink.ids:
            after = await asyncio.to_thread(topic_ends, admin)
            raise WarmUpError(_where_it_stops(side, stuck_hop(since, after), limits.first_seconds))
        p95 = await _until_warm(load, sink, say, admin, limits)
        await _drain(load, sink)
        return p95


async def _first_arrival(  # noqa: PLR0913, PLR0917  # the load, the chain and the limit
    load: SyntheticLoad,
    sink: WarmUpReceiver,
    say: Say,
    admin: AdminClient,
    seconds: float,
    since: Mapping[Topic, int],
) -> Mapping[Topic, int]:
    """Send one event per second until one arrives: documents need a few seconds to reach every node.

    The event waits behind the backlog of an earlier run: the time limit starts again once every hop has
    written. That transmit did proves little, as it writes a receipt of each try that fails.

    Args:
        load: the events.
        sink: their destination.
        say: gets progress lines.
        admin: of the side's brokers.
        seconds: the time limit.
        since: ends of the topics now.

    Returns:
        Ends of the topics when the limit started last.
    """
    deadline = time.monotonic() + seconds
    while not sink.ids and (left := deadline - time.monotonic()) > 0:
        say(f"warming up: waiting for the first event to arrive, {left:.0f} s more at most")
        await load.send(1)
        await asyncio.sleep(1)
        ends = await asyncio.to_thread(topic_ends, admin)
        if stuck_hop(since, ends) is None:
            deadline, since = time.monotonic() + seconds, ends
    return since


def _where_it_stops(side: Side, hop: str | None, seconds: float) -> str:
    waited = f"no event arrived within {seconds:.0f} s"
    if hop is None:
        destination = f"{HOST}:{side.sink_port}"
        return f"{waited}: every hop wrote, but {destination} received nothing; see {side.logs}/spark.log"
    log = side.logs / ("collect.log" if hop == "collect" else "spark.log")
    return f"{waited}: {hop} wrote nothing; see {log}"


async def _until_warm(
    load: SyntheticLoad, sink: WarmUpReceiver, say: Say, admin: AdminClient, limits: WarmUpLimits
) -> int:
    """Send the load, but only one event per second while customers' events wait."""
    began, backlog, looked = time.monotonic(), Backlog(), 0.0
    while True:
        elapsed, lags = time.monotonic() - began, sink.window()
        if warm(elapsed, lags) or (elapsed > limits.seconds and lags):
            return percentile_95(lags)
        if elapsed > limits.seconds + limits.first_seconds:
            silent = f"events came through, then none for {limits.first_seconds:.0f} s"
            raise WarmUpError(f"{silent}; see `hifi doctor`")
        if elapsed - looked >= 1:
            looked = elapsed
            backlog.take(await _look(load, sink, admin, elapsed))
            if backlog.waits:
                await load.send(1)
        if backlog.waits:
            say(_waiting(backlog))
            load.hold(elapsed)
        else:
            last = f"{percentile_95(lags)} ms" if lags else "-"
            moved = f"{len(sink.ids):,} synthetic events delivered"
            say(f"warming up: {elapsed:.0f} s, {moved}, p95 of the last seconds {last}")
            load.catch_up(elapsed, sink.ids)
        await asyncio.sleep(_TURN_SECONDS)


async def _look(load: SyntheticLoad, sink: WarmUpReceiver, admin: AdminClient, elapsed: float) -> Look:
    ends = await asyncio.to_thread(topic_ends, admin)
    answered, sent = load.requests
    return Look(
        at=elapsed, collected=ends[Topic.COLLECTED], answered=answered, sent=sent, lag_ms=sink.last_lag_ms
    )


def _waiting(backlog: Backlog) -> str:
    left = backlog.seconds_left
    until = "getting longer" if left is None else f"about {left:.0f} s more"
    return f"customers' events wait, so no synthetic load: {until}"


async def _drain(load: SyntheticLoad, sink: WarmUpReceiver) -> None:
    """Wait until what was acknowledged has arrived, so that no warm-up event meets a missing pipe."""
    deadline = time.monotonic() + _DRAIN_SECONDS
    while load.outstanding(sink.ids) and time.monotonic() < deadline:  # noqa: ASYNC110 - no event to wait for
        await asyncio.sleep(_TURN_SECONDS)
