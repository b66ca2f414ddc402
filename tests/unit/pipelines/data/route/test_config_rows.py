"""Pipes as rows: each path once, bad pipes left out."""

from datetime import UTC, datetime
from typing import Any

from pipelines.data.route.config_rows import Row, valid_pipes
from pipelines.data.route.kept_rows import KeptRows
from shared.contracts.documents import Pipe, Ramp
from shared.contracts.watches import Watch


def pipe(name: str = "p", **fields: Any) -> Pipe:
    return Pipe(**{"name": name, "tenant": "acme", "source": "player", "destination": "lake", **fields})


def test_each_source_has_one_row_with_every_place_once() -> None:
    found = rows(
        pipe("a", match={"type": ["x"], "data": {"k": [1], "l": {"m": [2]}}}),
        pipe("b", match={"type": ["y"], "data": {"k": [3]}}),
        pipe("c", source="web"),
    )

    assert [row[:4] for row in found] == [
        ("acme", "player", ["ce_type"], [["k"], ["l", "m"]]),
        ("acme", "web", [], []),
    ]
    assert [alternative[0] for alternative in found[0][4]] == ["a", "b"]


def test_a_watched_field_has_the_place_of_a_condition_on_it() -> None:
    watch = [Watch(field=f"data.{name}", kind="categories") for name in ("l.m", "n")]
    (row,) = rows(pipe("a", match={"data": {"k": [1], "l": {"m": [2]}}}), pipe("b", watch=watch))

    assert row[3] == [["k"], ["l", "m"], ["n"]]
    assert row[5] == [("b", [("data.l.m", "categories", 1), ("data.n", "categories", 2)])]


def test_content_type_is_looked_for_where_the_envelope_puts_it() -> None:
    (row,) = rows(pipe(match={"datacontenttype": ["text/plain"]}))

    assert row[2] == ["content-type"]


def test_a_pipe_that_cannot_be_compiled_does_not_stop_the_others() -> None:
    refused: list[tuple[str, str]] = []
    deep: dict[str, object] = {"type": ["x"]}
    for _ in range(400):
        deep = {"$or": [deep]}
    pipes = [pipe("a"), pipe("b", match={"type": "x"}), pipe("c"), pipe("d", match=deep)]

    left = valid_pipes(pipes, 0, lambda bad, why: refused.append((bad.name, why.partition(":")[0])))

    assert [p.name for p in left] == ["a", "c"]
    assert refused == [("b", "PatternError"), ("d", "PatternError")]


def test_two_tenants_sources_of_one_name_have_a_row_each_with_their_own_pipes() -> None:
    found = rows(pipe("a"), pipe("a", tenant="zoo", destination="pond"))

    assert [(*row[:2], [alternative[0] for alternative in row[4]]) for row in found] == [
        ("acme", "player", ["a"]),
        ("zoo", "player", ["a"]),
    ]


def test_only_a_source_whose_pipes_changed_is_compiled_again() -> None:
    kept, player, web = KeptRows(lambda bad, why: None), pipe("a"), pipe("c", source="web")

    first = kept.of([player, web], 0)
    changed = kept.of([player, pipe("c", source="web", match={"type": ["x"]})], 0)
    more = kept.of([player, pipe("b"), web], 0)
    fewer = kept.of([player], 0)

    assert [now is before for now, before in zip(changed, first, strict=True)] == [True, False]
    assert [alternative[0] for row in more for alternative in row[4]] == ["a", "b", "c"]
    assert fewer == first[:1]


def test_a_source_without_a_pipe_that_compiles_has_no_row_and_says_so_once() -> None:
    refused: list[str] = []
    kept, bad = KeptRows(lambda found, why: refused.append(found.name)), pipe("bad", match={"type": "x"})

    assert [kept.of([bad], now_ms) for now_ms in (0, 1)] == [[], []]
    assert refused == ["bad"]


def test_a_ramp_goes_on_although_no_pipe_changed() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    kept, ramping = KeptRows(lambda bad, why: None), pipe("a", ramp=Ramp(start=start, minutes=10))
    at = int(start.timestamp() * 1_000)

    open_to = [kept.of([ramping], at + minute * 60_000)[0][4][0][1] for minute in (0, 5, 10, 11)]

    assert open_to == [0, 5_000, 10_000, 10_000]


def rows(*pipes: Pipe) -> list[Row]:
    return KeptRows(lambda bad, why: None).of(pipes, 0)
