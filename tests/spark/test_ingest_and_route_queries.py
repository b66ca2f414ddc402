"""ingest and route as queries on real brokers: bad records do not stop them, changes take effect."""

import random
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Message
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.data.ingest.job import build as build_ingest
from pipelines.data.route.job import build as build_route
from shared.contracts import headers as h
from shared.contracts.documents import Pipe
from shared.contracts.envelope import collected_item, delivery_key, encode_items
from shared.contracts.limits import MAX_READABLE_BYTES
from shared.contracts.topics import Topic
from shared.runtime.settings import SparkSettings
from tests.conftest import delete_records
from tests.harness.topics import Topics
from tests.spark.events import ATTRIBUTES, STAMPS, event_headers, headers

_COLLECTED = headers({name: STAMPS[name] for name in (h.TENANT, h.SOURCE, h.RECEIVED)})
_ONE_PARTITION = b"the same key: the same partition"
_ALLOWED_SECONDS = 240.0
"""Limit for two slow cores that other tests share. Whole sides measure how soon a pipe takes effect."""
_POISON: list[bytes | None] = [
    None,
    b"",
    b"\xff\xfe",
    b"[",
    b"{}",
    b"[{}]",
    b'"' * 1000,
    b"[" * 2000 + b"]" * 2000,
    random.Random(1).randbytes(MAX_READABLE_BYTES),  # incompressible, and larger than one fetch
]


def pipe(name: str, **fields: object) -> Pipe:
    return Pipe(name=name, tenant="acme", source="player", destination="lake", **fields)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def side(
    spark: SparkSession,
    spark_settings: SparkSettings,
    configured: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Topics, list[StreamingQuery]]]:
    """Topics with one pipe for everything, and both queries on them, for all tests of this module: each test
    has its own events.
    """
    delete_records(configured)
    checkpoints = str(tmp_path_factory.mktemp("checkpoints"))
    settings = spark_settings.model_copy(update={"bootstrap": configured, "checkpoints": checkpoints})
    records = Topics(configured)
    records.publish(pipe("all"))
    queries = [build(spark, settings) for build in (build_route, build_ingest)]
    yield records, queries
    for query in queries:
        query.stop()


def text(message: Message, header: str) -> str:
    found = dict(message.headers() or [])[header]
    assert isinstance(found, bytes)
    return found.decode()


def until(condition: Callable[[], bool], seconds: float, queries: list[StreamingQuery]) -> float:
    """Seconds until a condition holds; fails at once if a query ends."""
    start = time.monotonic()
    while not condition():
        assert all(query.isActive for query in queries), [query.exception() for query in queries]
        assert time.monotonic() - start < seconds, "not in time"
        time.sleep(0.2)
    return time.monotonic() - start


def collected(name: str) -> bytes:
    return encode_items([collected_item({**ATTRIBUTES, "id": name}, minute=7, data='{"n": 1.10}')])


def arrived(records: Topics, of_test: str, name: str = "all") -> set[str]:
    """Ids of a test's events in the records of a pipe."""
    found = [m for m in records.all_of(Topic.OUTBOUND) if text(m, h.PIPE) == name]
    for message in found:
        assert message.key() == delivery_key("acme", name, text(message, h.CE_SOURCE), text(message, h.CE_ID))
        assert message.value() == b'{"n": 1.10}'
    return {of for of in (text(message, h.CE_ID) for message in found) if of.startswith(of_test)}


def test_poison_goes_to_quarantine_and_the_partition_moves_on(
    side: tuple[Topics, list[StreamingQuery]],
) -> None:
    records, queries = side
    direct = event_headers({**ATTRIBUTES, "id": "poison-direct"})
    records.put(Topic.COLLECTED, collected("poison-before"), _COLLECTED, _ONE_PARTITION)
    records.put(Topic.EVENTS, b'{"n": 1.10}', direct, _ONE_PARTITION)
    for poison in _POISON:
        records.put(Topic.COLLECTED, poison, _COLLECTED, _ONE_PARTITION)
        records.put(Topic.COLLECTED, poison, [], _ONE_PARTITION)
        records.put(Topic.EVENTS, poison, [], _ONE_PARTITION)
    records.put(Topic.COLLECTED, collected("poison-after"), _COLLECTED, _ONE_PARTITION)
    records.flush()

    good = {"poison-before", "poison-direct", "poison-after"}
    until(lambda: arrived(records, "poison-") == good, _ALLOWED_SECONDS, queries)
    until(lambda: len(records.all_of(Topic.QUARANTINE)) == 3 * len(_POISON), _ALLOWED_SECONDS, queries)

    quarantined = records.all_of(Topic.QUARANTINE)
    assert sorted(m.value() or b"" for m in quarantined) == sorted(3 * [poison or b"" for poison in _POISON])
    assert all(text(m, h.REASON) and text(m, h.ORIGIN).count("/") == 2 for m in quarantined)


def test_a_new_pipe_takes_effect_while_the_queries_run(side: tuple[Topics, list[StreamingQuery]]) -> None:
    records, queries = side
    sent = {"new-0"}
    records.put(Topic.COLLECTED, collected("new-0"), _COLLECTED, None)
    records.flush()
    until(lambda: arrived(records, "new-") == sent, _ALLOWED_SECONDS, queries)

    def new_pipe_works() -> bool:
        name = f"new-{len(sent)}"
        sent.add(name)
        records.put(Topic.COLLECTED, collected(name), _COLLECTED, None)
        records.flush()
        return bool(arrived(records, "new-", "new"))

    records.publish(pipe("new", match={"data": {"n": [{"numeric": ["<", 2]}]}}))
    until(new_pipe_works, _ALLOWED_SECONDS, queries)

    until(lambda: arrived(records, "new-") == sent, _ALLOWED_SECONDS, queries)
