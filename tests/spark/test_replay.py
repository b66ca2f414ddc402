"""A replay from end to end: real queries, real brokers and a real destination."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.control.backends.checkpoints import write_checkpoint
from pipelines.data.ingest.job import build as build_ingest
from pipelines.data.route.job import build as build_route
from pipelines.data.transmit.job import build as build_transmit
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts import headers as h
from shared.contracts.envelope import collected_item, encode_items
from shared.contracts.replay_range import replay_of
from shared.contracts.topics import Topic
from shared.runtime.settings import SparkSettings
from tests.conftest import delete_records
from tests.harness.topics import Topics, pipe_to
from tests.harness.waiting import eventually
from tests.spark.events import ATTRIBUTES, STAMPS, event_headers, headers
from tests.spark.test_transmit_query import Sink, own_settings

pytestmark = pytest.mark.proof

_SECONDS = 240
_KEY = b"the same key: the same partition"
_WHOSE = {h.TENANT: "t", h.SOURCE: "s"}
_COLLECTED = headers({**_WHOSE, h.RECEIVED: STAMPS[h.RECEIVED]})
_NAMES = [f"e{number}" for number in range(40)]
_LOST = _NAMES[::8]
_GARBAGE, _GOOD = b'{"n": 1.1}', '{"n": 1.10}'


@pytest.fixture
def sink() -> Iterator[Sink]:
    found = Sink()
    yield found
    found.close()


def test_the_good_version_sends_again_what_the_bad_one_spoilt_or_lost_and_once_only(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, sink: Sink, tmp_path: Path
) -> None:
    delete_records(topics)
    side, settings = Topics(topics), own_settings(spark_settings, topics, tmp_path)
    side.publish(*pipe_to("replayed", sink.url("/200")))
    for name in _NAMES:
        item = collected_item({**ATTRIBUTES, "id": name}, minute=7, data=_GOOD)
        side.put(Topic.COLLECTED, encode_items([item]), _COLLECTED, _KEY)
        if name not in _LOST:  # a bad ingest's output
            side.put(Topic.EVENTS, _GARBAGE, event_headers({**ATTRIBUTES, "id": name}, **_WHOSE), _KEY)
    side.flush()
    found = [each for each in side.all_of(Topic.COLLECTED) if each.key() == _KEY]
    partition, ends = found[0].partition() or 0, [each.offset() or 0 for each in found]
    other = 1 - partition
    first = side.retained(Topic.COLLECTED)[other].first
    since = {"collected": {str(partition): min(ends), str(other): first}}
    replay = replay_of(since, {"collected": {str(partition): max(ends) + 1}})
    offsets = {f"collected/{each}": offset for each, offset in since["collected"].items()}
    running = [build_transmit(spark, settings), build_route(spark, settings)]
    try:
        eventually(lambda: len(_bodies(sink)) == len(_NAMES) - len(_LOST), _SECONDS, "garbage arrives")
        for times in (1, 2):  # the second time, as after a crash before the first batch was committed
            write_checkpoint(FolderCheckpoints(tmp_path), "ingest", offsets, replay)
            ingest = build_ingest(spark, settings)
            try:
                wanted = times * len(_NAMES)
                eventually(partial(_settled, side, wanted), _SECONDS, "all of the replay is settled")
            finally:
                ingest.stop()
    finally:
        for query in running:
            query.stop()
    arrived = _bodies(sink)
    texts = [body for body in sink.bodies if _GOOD.encode() in body]
    good = sorted(event["id"] for body in texts for event in json.loads(body))
    assert good == sorted(_NAMES), "each once, with its own bytes"
    assert len(arrived) == 2 * len(_NAMES) - len(_LOST)
    assert sum(len(each.ids) for each in side.receipts() if each.replay and each.tries) == len(_NAMES)
    assert {each.replay for each in side.receipts()} == {"", replay.name}


def _bodies(sink: Sink) -> list[tuple[str, float]]:
    return [(event["id"], event["data"]["n"]) for body in sink.bodies for event in json.loads(body)]


def _settled(side: Topics, wanted: int) -> bool:
    return sum(len(each.ids) for each in side.receipts() if each.replay) == wanted
