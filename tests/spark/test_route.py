"""route's DataFrame functions: one record for each event and matching pipe."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from pipelines.data.route.config_rows import source_row
from pipelines.data.route.schema import REQUIRED_HEADERS, SOURCE_ROW
from pipelines.data.route.transforms import outbound
from shared.contracts import headers as h
from shared.contracts.documents import Pipe
from shared.contracts.envelope import delivery_key
from shared.contracts.limits import MAX_READABLE_BYTES
from tests.spark.events import ATTRIBUTES, by_topic, event_headers, header_map, kafka_rows, one_partition


def table(spark: SparkSession, *pipes: Pipe) -> DataFrame:
    return one_partition(spark, [source_row(("acme", "player"), pipes, 0)], SOURCE_ROW)


def pipe(name: str, **fields: Any) -> Pipe:
    return Pipe(**{"name": name, "tenant": "acme", "source": "player", "destination": "lake", **fields})


def test_an_event_goes_on_unchanged_to_each_pipe_it_matches(spark: SparkSession) -> None:
    value = '{"a": 1.10, "b": "😀"}'.encode()
    pipes = table(
        spark, pipe("all"), pipe("none", match={"type": ["x"]}), pipe("some", match={"data": {"a": [1.1]}})
    )

    rows = outbound(kafka_rows(spark, "events", [(value, event_headers())]), pipes).collect()

    assert [header_map(row)[h.PIPE] for row in rows] == ["all", "some"]
    for row in rows:
        assert row["topic"] == "outbound"
        assert bytes(row["value"]) == value
        assert [tuple(header) for header in row["headers"]][:-3] == event_headers()
        assert header_map(row)[h.ATTEMPT] == "1"


def test_each_copy_names_all_pipes_and_an_only_one_names_none(spark: SparkSession) -> None:
    pipes = table(spark, pipe("zoo"), pipe("ant", match={"type": ["heartbeat"]}), pipe("none", sample=0))
    records = [(b"{}", event_headers()), (b"{}", event_headers({**ATTRIBUTES, "type": "seek"}))]

    several: list[dict[str, str]] = []
    only: list[dict[str, str]] = []
    for row in outbound(kafka_rows(spark, "events", records), pipes).collect():
        heads = header_map(row)
        (several if heads[h.CE_TYPE] == "heartbeat" else only).append(heads)

    order = [heads[h.PIPE] for heads in several]
    assert sorted(order) == ["ant", "zoo"]
    assert [heads[h.PIPES].split(h.PIPES_SEPARATOR) for heads in several] == [order, order[:1]]
    assert [(heads[h.PIPE], h.PIPES in heads) for heads in only] == [("zoo", False)]


def test_two_tenants_sources_of_one_name_feed_their_own_pipes_of_one_name(spark: SparkSession) -> None:
    wanted: dict[str, dict[str, Any]] = {
        "acme": {},
        "zoo": {"match": {"type": ["x"]}},
        "own": {"match": {"data": {"a": [1]}}},
    }
    rows = [
        source_row((tenant, "player"), [pipe("all", tenant=tenant, **fields)], 0)
        for tenant, fields in wanted.items()
    ]
    records = [(b'{"a": 1}', event_headers(hifi_tenant=tenant)) for tenant in (*wanted, "none")]
    sources = one_partition(spark, rows, SOURCE_ROW)

    routed = outbound(kafka_rows(spark, "events", records), sources).collect()

    assert [(row["topic"], header_map(row)[h.TENANT]) for row in routed] == [
        ("outbound", "acme"),
        ("unmatched", "zoo"),
        ("outbound", "own"),
        ("unmatched", "none"),
    ]
    assert [bytes(row["key"]) for row in routed if row["key"]] == [
        delivery_key(tenant, "all", ATTRIBUTES["source"], ATTRIBUTES["id"]) for tenant in ("acme", "own")
    ]


def test_an_event_whose_alternatives_both_match_goes_once(spark: SparkSession) -> None:
    both = pipe("p", match={"$or": [{"type": ["heartbeat"]}, {"source": [{"prefix": "/"}]}]})

    assert outbound(kafka_rows(spark, "events", [(b"{}", event_headers())]), table(spark, both)).count() == 1


def test_an_event_that_no_pipe_takes_is_noted_as_unmatched(spark: SparkSession) -> None:
    pipes = table(spark, pipe("other", match={"type": ["x"]}), pipe("unsampled", sample=0))
    records = [
        (b"{}", event_headers({**ATTRIBUTES, "subject": "s"})),
        (b"{}", event_headers(hifi_source="web")),
    ]

    rows = outbound(kafka_rows(spark, "events", records), pipes).collect()

    noted = (h.CE_ID, h.CE_TIME, h.TENANT, h.SOURCE, h.RECEIVED, h.MINUTE)
    assert [(row["topic"], row["key"], row["value"]) for row in rows] == [("unmatched", None, None)] * 2
    for row, (_, heads) in zip(rows, records, strict=True):
        given = dict(heads)
        assert [tuple(header) for header in row["headers"]] == [(name, given[name]) for name in noted]


def test_the_mark_of_a_replay_goes_on_to_every_pipe_or_stays_with_an_event_that_none_takes(
    spark: SparkSession,
) -> None:
    pipes = table(spark, pipe("one"), pipe("two"))
    records = [
        (b"{}", event_headers(hifi_replay="r1")),
        (b"{}", event_headers()),
        (b"{}", event_headers(hifi_source="web", hifi_replay="r1")),
    ]

    rows = outbound(kafka_rows(spark, "events", records), pipes).collect()

    assert [(row["topic"], header_map(row).get(h.REPLAY)) for row in rows] == [
        ("outbound", "r1"),
        ("outbound", "r1"),
        ("outbound", None),
        ("outbound", None),
        ("unmatched", "r1"),
    ]


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@settings(max_examples=3, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(named=st.lists(st.tuples(_TEXT, _TEXT), min_size=40, max_size=40))
def test_the_key_is_the_delivery_key(spark: SparkSession, named: list[tuple[str, str]]) -> None:
    records = [(b"", event_headers({**ATTRIBUTES, "source": source, "id": name})) for source, name in named]

    rows = outbound(kafka_rows(spark, "events", records), table(spark, pipe("all"))).collect()

    assert [bytes(row["key"]) for row in rows] == [
        delivery_key("acme", "all", source, name) for source, name in named
    ]


def test_raising_a_sample_only_adds_events(spark: SparkSession) -> None:
    records = [(b"{}", event_headers({**ATTRIBUTES, "id": f"e{n}"})) for n in range(2_000)]
    pipes = [pipe(f"p{percent}", sample=percent) for percent in (0, 10, 50, 100)]

    taken: dict[str, set[str]] = {p.name: set() for p in pipes}
    for row in outbound(kafka_rows(spark, "events", records), table(spark, *pipes)).collect():
        taken[header_map(row)[h.PIPE]].add(header_map(row)[h.CE_ID])

    assert taken["p0"] < taken["p10"] < taken["p50"] < taken["p100"]
    assert len(taken["p10"]) == pytest.approx(200, abs=60)
    assert len(taken["p100"]) == len(records)


def test_an_event_without_a_required_header_goes_to_quarantine(spark: SparkSession) -> None:
    kept = [[header for header in event_headers() if header[0] != missing] for missing in REQUIRED_HEADERS]
    records = kafka_rows(spark, "events", [(b"{}", left) for left in kept])

    found = outbound(records, table(spark, pipe("all"))).collect()

    assert {(row["topic"], row["key"], bytes(row["value"])) for row in found} == {("quarantine", None, b"{}")}
    reasons = {header_map(row)[h.ORIGIN]: header_map(row)[h.REASON] for row in found}
    assert reasons == {f"events/0/{n}": f"no header {name}" for n, name in enumerate(REQUIRED_HEADERS)}


@settings(max_examples=4, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(
    poison=st.lists(
        st.tuples(
            st.none() | st.binary(max_size=50),
            st.none()
            | st.lists(
                st.tuples(st.sampled_from(REQUIRED_HEADERS), st.none() | st.binary(max_size=9)), max_size=9
            ),
        ),
        min_size=60,
        max_size=60,
    )
)
def test_no_bytes_raise_and_whole_records_go_on(spark: SparkSession, poison: list[tuple[Any, Any]]) -> None:
    looking = pipe("p", match={"data": {"a": [{"exists": False}]}})
    records = [
        *poison,
        *((value, event_headers()) for value, _ in poison),
        (b" " * (MAX_READABLE_BYTES + 1), None),
    ]

    found = by_topic(outbound(kafka_rows(spark, "events", records), table(spark, looking)))

    assert len(found["outbound"]) == len(poison)
    unfit = [
        offset
        for offset, (_, heads) in enumerate(poison)
        if any(_lacks(heads, name) for name in REQUIRED_HEADERS)
    ]
    origins = {header_map(row)[h.ORIGIN] for row in found["quarantine"]}
    assert origins == {f"events/0/{offset}" for offset in [*unfit, 2 * len(poison)]}


def _lacks(heads: list[tuple[str, bytes | None]] | None, name: str) -> bool:
    """The first header of a name counts, and only if it has a value."""
    return next((value for key, value in heads or [] if key == name), None) is None
