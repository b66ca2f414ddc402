"""The management API's preview of a request agrees with ingest, route and transmit."""

import json
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from pipelines.data.ingest.transforms import events
from pipelines.data.route.config_rows import source_row
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from pipelines.data.transmit.delivery.record_parser import read
from pipelines.data.transmit.events import Event
from pipelines.data.transmit.transforms import flatten
from pipelines.management.api.preview import preview, preview_event
from shared.cloudevents.events import AcceptedEvent, RequestContext, read_cloudevent
from shared.contracts import headers as h
from shared.contracts.documents import Destination, Pipe
from shared.contracts.envelope import CollectedItem, encode_items
from shared.contracts.masks import Mask
from shared.transformation.event_content import structured
from shared.transformation.pipe_transform import transform_of
from tests.spark.events import KAFKA_ROW, STAMPS, headers, kafka_rows, one_partition

NOW_MS = 1_795_255_200_123
SINK = Destination(name="d", tenant="acme", options={"url": "https://example.com"})
EVENTS: dict[str, dict[str, Any]] = {
    "json": {"data": {"user": {"email": "a@b.c"}, "n": 1}},
    "array": {"data": [1, 2, {"user": "x"}], "time": "2026-01-31T12:00:00+01:00"},
    "text": {"data": "plain é", "datacontenttype": "text/plain"},
    "binary": {"data_base64": "/wA=", "datacontenttype": "application/octet-stream"},
    "json in base64": {"data_base64": "eyJuIjoxfQ==", "datacontenttype": "application/vnd.a+json"},
    "nothing": {},
    "null": {"data": None},
    "extensions": {"data": 1, "hop": 7, "ok": True, "subject": "s'\"é", "dataschema": "https://a/b"},
}
PIPES = [
    Pipe(name="plain", tenant="acme", source="player", destination="d"),
    Pipe(
        name="masked",
        tenant="acme",
        source="player",
        destination="d",
        masks=[Mask(path="$.subject", action="drop"), Mask(path="$.hop", action="redact")],
    ),
    Pipe(
        name="transformed",
        tenant="acme",
        source="player",
        destination="d",
        transform="{t: type, all: data, s: subject}",
    ),
]


def item_of(name: str, members: dict[str, Any]) -> CollectedItem:
    event = {"specversion": "1.0", "id": name.replace(" ", "-"), "source": "/s", "type": "t", **members}
    found = read_cloudevent(
        json.dumps(event, ensure_ascii=False).encode(), RequestContext.at(NOW_MS, "player", lambda: "")
    )
    assert isinstance(found, AcceptedEvent), found
    return found.item


@pytest.fixture(scope="module")
def items() -> list[CollectedItem]:
    return [item_of(each, fields) for each, fields in EVENTS.items()]


@pytest.fixture(scope="module")
def delivered(spark: SparkSession, items: list[CollectedItem]) -> dict[tuple[str, str], bytes]:
    """The chain's requests by pipe and id."""
    stamps = headers({name: STAMPS[name] for name in (h.TENANT, h.SOURCE, h.RECEIVED)})
    made = events(kafka_rows(spark, "collected", [(encode_items(items), stamps)])).collect()
    records = [
        (_bytes(row["value"]), [(each["key"], each["value"]) for each in row["headers"]]) for row in made
    ]
    sources = one_partition(spark, [source_row(("acme", "player"), PIPES, NOW_MS)], SOURCE_ROW)
    routed = outbound(kafka_rows(spark, "events", records), sources).collect()
    rows = [(row["key"], row["value"], "outbound", 0, at, row["headers"]) for at, row in enumerate(routed)]
    flat = flatten(one_partition(spark, rows, KAFKA_ROW)).toArrow()
    transforms = {pipe.name: transform_of(pipe) for pipe in PIPES}
    left = {}
    for event in (each for batch in flat.to_batches() for each in read(batch)):
        assert isinstance(event, Event), event
        transform = transforms[event.pipe]
        left[event.pipe, event.id] = structured(event if transform is None else transform.apply(event, b""))
    return left


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def members(event: bytes) -> dict[str, bytes]:
    """The members' own bytes, without a traceparent that ingest adds to some events."""
    found = msgspec.json.decode(event, type=dict[str, msgspec.Raw])
    return {name: bytes(raw) for name, raw in found.items() if name != "traceparent"}


@pytest.mark.parametrize("pipe", PIPES, ids=lambda pipe: pipe.name)
def test_what_would_leave_is_what_leaves(
    delivered: dict[tuple[str, str], bytes], items: list[CollectedItem], pipe: Pipe
) -> None:
    assert {of for of, _ in delivered} == {each.name for each in PIPES}
    assert len(delivered) == len(EVENTS) * len(PIPES)
    for item in items:
        said = preview(pipe, preview_event(item), SINK, NOW_MS)
        assert members(bytes(said.event)) == members(delivered[pipe.name, item.id]), item.id
