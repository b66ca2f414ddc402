"""Pipes as rows: each path once, ramps by the clock."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.route.config_rows import source_rows, threshold, valid_pipes
from shared.contracts.documents import Catalogue, Entry, Pipe, Ramp, Source, kind_of, topic_key

_START = datetime(2026, 1, 1, tzinfo=UTC)
_START_MS = int(_START.timestamp() * 1000)


def pipe(name: str = "p", **fields: Any) -> Pipe:
    return Pipe(**{"name": name, "tenant": "acme", "source": "player", "destination": "lake", **fields})


def test_each_source_has_one_row_with_every_place_once() -> None:
    found = list(
        source_rows(
            [
                pipe("a", match={"type": ["x"], "data": {"k": [1], "l": {"m": [2]}}}),
                pipe("b", match={"type": ["y"], "data": {"k": [3]}}),
                pipe("c", source="web"),
            ],
            now_ms=0,
        )
    )

    assert [(row[0], row[1], row[2]) for row in found] == [
        ("player", ["ce_type"], [["k"], ["l", "m"]]),
        ("web", [], []),
    ]
    assert [alternative[0] for alternative in found[0][3]] == ["a", "b"]


def test_content_type_is_looked_for_where_the_envelope_puts_it() -> None:
    (row,) = source_rows([pipe(match={"datacontenttype": ["text/plain"]})], now_ms=0)

    assert row[1] == ["content-type"]


@pytest.mark.parametrize(
    ("minutes_passed", "expected"), [(-1, 0), (0, 0), (5, 1_000), (10, 2_000), (99, 2_000)]
)
def test_a_ramp_opens_in_a_line_up_to_the_sample(minutes_passed: float, expected: int) -> None:
    ramped = pipe(sample=20, ramp=Ramp(start=_START, minutes=10))

    assert threshold(ramped, _START_MS + int(minutes_passed * 60_000)) == expected


@given(st.floats(0, 100), st.integers(0, 10**7), st.integers(0, 10**7))
def test_a_ramp_never_closes_again(sample: float, earlier: int, later: int) -> None:
    ramped = pipe(sample=sample, ramp=Ramp(start=_START, minutes=60))
    first, second = sorted((earlier, later))

    assert threshold(ramped, _START_MS + first) <= threshold(ramped, _START_MS + second)


def test_a_pipe_that_cannot_be_compiled_does_not_stop_the_others() -> None:
    refused: list[tuple[str, str]] = []
    deep: dict[str, object] = {"type": ["x"]}
    for _ in range(400):
        deep = {"$or": [deep]}
    pipes = [pipe("a"), pipe("b", match={"type": "x"}), pipe("c"), pipe("d", match=deep)]

    left = valid_pipes(
        catalogue(*pipes), 0, lambda bad, why: refused.append((bad.name, why.partition(":")[0]))
    )

    assert [p.name for p in left] == ["a", "c"]
    assert refused == [("b", "PatternError"), ("d", "PatternError")]


def test_a_pipe_of_another_tenant_than_its_source_takes_nothing() -> None:
    refused: list[str] = []
    taken_over = Source(name="player", tenant="somebody-else", write_keys=["sha256:0"])

    assert not [*valid_pipes(catalogue(taken_over, pipe("a")), 0, lambda bad, _: refused.append(bad.name))]
    assert refused == ["a"]


def catalogue(*found: Source | Pipe) -> Catalogue:
    return Catalogue({topic_key(kind_of(each), each.name): Entry(version=1, document=each) for each in found})
