"""Both queries run between real brokers and real destinations."""

from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.control.backends.checkpoints import query_positions
from pipelines.data.transmit.job import SLOW_NODE, build, build_slow
from pipelines.data.transmit.settings import TransmitSettings
from scripts.load.fault_injection import FaultInjection, parse_rule
from scripts.load.receiver import Receiver, running
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts.envelope import delivery_key
from shared.contracts.receipts import Receipt
from shared.contracts.topics import Topic
from shared.runtime.settings import SparkSettings
from tests.harness.topics import Topics, outbound_headers, pipe_to
from tests.harness.waiting import eventually

pytestmark = pytest.mark.proof

ROUNDS = 10


def receipts(side: Topics, pipe: str) -> list[Receipt]:
    return [receipt for receipt in side.receipts() if receipt.pipe == pipe]


def test_a_slow_destination_gets_its_events_by_the_slow_lane_and_comes_back_when_it_is_fast(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, tmp_path: Path
) -> None:
    side, sent = Topics(topics), 0
    settings = TransmitSettings(
        **{**spark_settings.model_dump(), "bootstrap": topics, "checkpoints": str(tmp_path)}
    )

    def feed() -> None:
        nonlocal sent
        side.event("late", sent)
        side.event("fine", sent)
        side.flush()
        sent += 1

    def arrives_fast() -> bool:
        feed()
        return receipts(side, "late")[-1].lane == "fast" and len(side.all_of(Topic.OUTBOUND_SLOW)) < sent - 5

    slow = FaultInjection([parse_rule("delay:2s=100%")])
    with running(Receiver(misbehaviour=slow)) as late, running(Receiver()) as fine:
        side.publish(*pipe_to("late", f"{late.url}/"), *pipe_to("fine", f"{fine.url}/"))
        feed()
        queries = [build_slow(spark, settings), build(spark, settings)]
        try:
            eventually(lambda: bool(receipts(side, "late")), 240)
            (first,) = receipts(side, "late")
            assert (first.result, first.lane, first.attempt) == ("delivered", "slow", 1)
            assert first.departed_ms > receipts(side, "fine")[0].departed_ms
            late.misbehaviour = FaultInjection()
            eventually(arrives_fast, 240)
            eventually(lambda: len(late.counts("/").seen) == sent == len(fine.counts("/").seen), 240)
            assert all(query.exception() is None for query in queries)
        finally:
            for query in queries:
                query.stop()
    assert late.counts("/").duplicated <= 1  # the request in flight during the move
    assert fine.counts("/").duplicated == 0


def test_a_slow_lane_that_is_idle_has_nothing_that_it_would_send_again(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, tmp_path: Path
) -> None:
    side, checkpoints = Topics(topics), FolderCheckpoints(tmp_path)
    settings = TransmitSettings(
        **{**spark_settings.model_dump(), "bootstrap": topics, "checkpoints": str(tmp_path)}
    )

    def position() -> int:
        return sum(query_positions(checkpoints, (SLOW_NODE,)).get(SLOW_NODE, {}).values())

    def end() -> int:
        return sum(each.end for each in side.retained(Topic.OUTBOUND_SLOW).values())

    with running(Receiver()) as sink:
        side.publish(*pipe_to("slow", f"{sink.url}/"))
        query = build_slow(spark, settings)
        try:
            for sent in range(1, ROUNDS + 1):
                key = delivery_key("t", "slow", "test", f"e{sent}")
                side.put(Topic.OUTBOUND_SLOW, b'{"n":%d}' % sent, outbound_headers("slow", sent), key)
                side.flush()
                arrived = partial(lambda count: len(sink.counts("/").seen) == count, sent)
                eventually(arrived, 240, "the event arrives")
                if sent % 2 == 0:  # two batches one after the other, and then none
                    eventually(lambda: position() == end(), 10, "it is noted")
        finally:
            query.stop()
