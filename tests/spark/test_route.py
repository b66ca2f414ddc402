"""route's DataFrame functions write one record for each event and matching pipe."""

from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession

from pipelines.data.route.kept_rows import KeptRows
from pipelines.data.route.schema import REQUIRED_HEADERS, SOURCE_ROW
from pipelines.data.route.transforms import outbound
from shared.contracts import headers as h
from shared.contracts.documents import Pipe
from shared.contracts.envelope import delivery_key
from shared.contracts.limits import MAX_READABLE_BYTES
from shared.contracts.topics import Topic
from tests.spark.events import (
    ATTRIBUTES,
    STAMPS,
    Given,
    Headers,
    by_case,
    event_headers,
    header_map,
    one_partition,
)
from tests.spark.patterns import drawn

_NAMED = 120
_POISON = 240


def pipe(name: str, tenant: str, **fields: Any) -> Pipe:
    return Pipe(**{"name": name, "tenant": tenant, "source": "player", "destination": "lake", **fields})


class Routed(NamedTuple):
    """Records given to route, and its output."""

    records: list[Given]
    rows: list[Row]


@pytest.fixture(scope="module")
def routed(spark: SparkSession, given: dict[str, tuple[list[Pipe], list[Given]]]) -> dict[str, Routed]:
    """The routed records of each test. One table has all pipes, so each test has its own tenant."""
    cases = given | {_KEYS: ([pipe("all", "keys")], keyed()), _ANY: ([_LOOKING], anything())}
    pipes = [each for of_case, _ in cases.values() for each in of_case]
    sources = one_partition(spark, KeptRows(lambda bad, why: None).of(pipes, 0), SOURCE_ROW)
    records = [of_case for _, of_case in cases.values()]
    found = by_case(spark, Topic.EVENTS, records, lambda events: outbound(events, sources))
    return dict(zip(cases, map(Routed, records, found), strict=True))


@pytest.fixture
def rows(routed: dict[str, Routed], request: pytest.FixtureRequest) -> list[Row]:
    """The rows made of the records in the test's mark `given`, with its pipes."""
    return routed[request.node.nodeid].rows


_VALUE = '{"a": 1.10, "b": "😀"}'.encode()
_UNCHANGED = event_headers(hifi_tenant="unchanged")


@pytest.mark.given(
    [
        pipe("all", "unchanged"),
        pipe("none", "unchanged", match={"type": ["x"]}),
        pipe("some", "unchanged", match={"data": {"a": [1.1]}}),
    ],
    [(_VALUE, _UNCHANGED)],
)
def test_an_event_goes_on_unchanged_to_each_pipe_it_matches(rows: list[Row]) -> None:
    assert [header_map(row)[h.PIPE] for row in rows] == ["all", "some"]
    for row in rows:
        assert row["topic"] == "outbound"
        assert bytes(row["value"]) == _VALUE
        assert [tuple(header) for header in row["headers"]][:-3] == _UNCHANGED
        assert header_map(row)[h.ATTEMPT] == "1"


@pytest.mark.given(
    [
        pipe("zoo", "names"),
        pipe("ant", "names", match={"type": ["heartbeat"]}),
        pipe("none", "names", sample=0),
    ],
    [
        (b"{}", event_headers(hifi_tenant="names")),
        (b"{}", event_headers({**ATTRIBUTES, "type": "seek"}, hifi_tenant="names")),
    ],
)
def test_each_copy_names_all_pipes_and_an_only_one_names_none(rows: list[Row]) -> None:
    several: list[dict[str, str]] = []
    only: list[dict[str, str]] = []
    for row in rows:
        heads = header_map(row)
        (several if heads[h.CE_TYPE] == "heartbeat" else only).append(heads)

    order = [heads[h.PIPE] for heads in several]
    assert sorted(order) == ["ant", "zoo"]
    assert [heads[h.PIPES].split(h.PIPES_SEPARATOR) for heads in several] == [order, order[:1]]
    assert [(heads[h.PIPE], h.PIPES in heads) for heads in only] == [("zoo", False)]


@pytest.mark.given(
    [
        pipe("all", "acme"),
        pipe("all", "zoo", match={"type": ["x"]}),
        pipe("all", "own", match={"data": {"a": [1]}}),
    ],
    [(b'{"a": 1}', event_headers(hifi_tenant=tenant)) for tenant in ("acme", "zoo", "own", "none")],
)
def test_two_tenants_sources_of_one_name_feed_their_own_pipes_of_one_name(rows: list[Row]) -> None:
    assert [(row["topic"], header_map(row)[h.TENANT]) for row in rows] == [
        ("outbound", "acme"),
        ("unmatched", "zoo"),
        ("outbound", "own"),
        ("unmatched", "none"),
    ]
    assert [bytes(row["key"]) for row in rows if row["key"]] == [
        delivery_key(tenant, "all", ATTRIBUTES["source"], ATTRIBUTES["id"]) for tenant in ("acme", "own")
    ]


_EITHER = {"$or": [{"type": ["heartbeat"]}, {"source": [{"prefix": "/"}]}]}


@pytest.mark.given([pipe("p", "either", match=_EITHER)], [(b"{}", event_headers(hifi_tenant="either"))])
def test_an_event_whose_alternatives_both_match_goes_once(rows: list[Row]) -> None:
    assert [row["topic"] for row in rows] == ["outbound"]


_UNTAKEN: list[tuple[bytes, Headers]] = [
    (b"{}", event_headers({**ATTRIBUTES, "subject": "s"}, hifi_tenant="untaken")),
    (b"{}", event_headers(hifi_tenant="untaken", hifi_source="web")),
]


@pytest.mark.given(
    [pipe("other", "untaken", match={"type": ["x"]}), pipe("unsampled", "untaken", sample=0)], _UNTAKEN
)
def test_an_event_that_no_pipe_takes_is_noted_as_unmatched(rows: list[Row]) -> None:
    noted = (h.CE_ID, h.CE_TIME, h.TENANT, h.SOURCE, h.RECEIVED, h.MINUTE)
    assert [(row["topic"], row["key"], row["value"]) for row in rows] == [("unmatched", None, None)] * 2
    for row, (_, heads) in zip(rows, _UNTAKEN, strict=True):
        given = dict(heads)
        assert [tuple(header) for header in row["headers"]] == [(name, given[name]) for name in noted]


@pytest.mark.given(
    [pipe("one", "replay"), pipe("two", "replay")],
    [
        (b"{}", event_headers(hifi_tenant="replay", hifi_replay="r1")),
        (b"{}", event_headers(hifi_tenant="replay")),
        (b"{}", event_headers(hifi_tenant="replay", hifi_source="web", hifi_replay="r1")),
    ],
)
def test_the_mark_of_a_replay_goes_on_to_every_pipe_or_stays_with_an_event_that_none_takes(
    rows: list[Row],
) -> None:
    assert [(row["topic"], header_map(row).get(h.REPLAY)) for row in rows] == [
        ("outbound", "r1"),
        ("outbound", "r1"),
        ("outbound", None),
        ("outbound", None),
        ("unmatched", "r1"),
    ]


_SAMPLED = [pipe(f"p{percent}", "sampled", sample=percent) for percent in (0, 10, 50, 100)]
_EVENTS = 1_000


@pytest.mark.given(
    _SAMPLED,
    [(b"{}", event_headers({**ATTRIBUTES, "id": f"e{n}"}, hifi_tenant="sampled")) for n in range(_EVENTS)],
)
def test_raising_a_sample_only_adds_events(rows: list[Row]) -> None:
    taken: dict[str, set[str]] = {each.name: set() for each in _SAMPLED}
    for row in rows:
        heads = header_map(row)
        taken[heads[h.PIPE]].add(heads[h.CE_ID])

    assert taken["p0"] < taken["p10"] < taken["p50"] < taken["p100"]
    assert len(taken["p10"]) == pytest.approx(100, abs=40)
    assert len(taken["p100"]) == _EVENTS


@pytest.mark.given(
    [],
    [(b"{}", [header for header in event_headers() if header[0] != missing]) for missing in REQUIRED_HEADERS],
)
def test_an_event_without_a_required_header_goes_to_quarantine(rows: list[Row]) -> None:
    assert {(row["topic"], row["key"], bytes(row["value"])) for row in rows} == {("quarantine", None, b"{}")}
    reasons = {header_map(row)[h.ORIGIN]: header_map(row)[h.REASON] for row in rows}
    assert reasons == {f"events/0/{n}": f"no header {name}" for n, name in enumerate(REQUIRED_HEADERS)}


_KEYS = "any source and id"
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


def keyed() -> list[Given]:
    """Events with arbitrary sources and ids."""
    named = [{**ATTRIBUTES, "source": of, "id": name} for of, name in drawn(st.tuples(_TEXT, _TEXT), _NAMED)]
    return [(b"", event_headers(attributes, hifi_tenant="keys")) for attributes in named]


def test_the_key_is_the_delivery_key(routed: dict[str, Routed]) -> None:
    records, rows = routed[_KEYS]
    assert len(rows) == len(records) == _NAMED
    for row, (_, heads) in zip(rows, records, strict=True):
        text = {name: bytes(value).decode() for name, value in heads or []}  # type: ignore[arg-type]
        assert bytes(row["key"]) == delivery_key("keys", "all", text[h.CE_SOURCE], text[h.CE_ID])


_ANY = "any bytes"
_LOOKING = pipe("p", STAMPS[h.TENANT], source="looking", match={"data": {"a": [{"exists": False}]}})
_VALUES = st.none() | st.binary(max_size=50)
_HEADERS = st.none() | st.lists(
    st.tuples(st.sampled_from(REQUIRED_HEADERS), st.none() | st.binary(max_size=9)), max_size=9
)


def anything() -> list[Given]:
    """Any values with any headers, the same values with whole headers, and a value that is too large."""
    poison: list[Given] = drawn(st.tuples(_VALUES, _HEADERS), _POISON)
    whole = [(value, event_headers(hifi_source="looking")) for value, _ in poison]
    return [*poison, *whole, (b" " * (MAX_READABLE_BYTES + 1), None)]


def test_no_bytes_raise_and_whole_records_go_on(routed: dict[str, Routed]) -> None:
    records, rows = routed[_ANY]
    assert [row["topic"] for row in rows].count("outbound") == _POISON
    unfit = [
        offset
        for offset, (_, heads) in enumerate(records)
        if any(_lacks(heads, name) for name in REQUIRED_HEADERS)
    ]
    origins = {header_map(row)[h.ORIGIN] for row in rows if row["topic"] == "quarantine"}
    assert origins == {f"events/0/{offset}" for offset in unfit}


def _lacks(heads: Headers | None, name: str) -> bool:
    """The first header of a name counts, and only if it has a value."""
    return next((value for key, value in heads or [] if key == name), None) is None
