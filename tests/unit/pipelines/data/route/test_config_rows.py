"""Pipes become rows: each path once, without bad pipes."""

import time
from datetime import UTC, datetime
from typing import Any

from pipelines.data.route.config_rows import Row, valid_pipes
from pipelines.data.route.field_tree import slots, tree_of
from pipelines.data.route.kept_rows import KeptRows
from shared.contracts.documents import Pipe, Ramp
from shared.contracts.matching_steps import MATCHING_STEPS
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
        ("acme", "player", ["ce_type"], (["l"], ["k"], [([], [(0, "m")])])),
        ("acme", "web", [], None),
    ]
    assert [alternative[0] for alternative in found[0][4]] == ["a", "b"]


def test_a_watched_field_has_the_place_of_a_condition_on_it() -> None:
    watch = [Watch(field=f"data.{name}", kind="categories") for name in ("l.m", "n")]
    (row,) = rows(pipe("a", match={"data": {"k": [1], "l": {"m": [2]}}}), pipe("b", watch=watch))

    assert row[3] == (["l"], ["k", "n"], [([], [(0, "m")])])
    assert row[5] == [("b", [("data.l.m", "categories", 2), ("data.n", "categories", 1)])]


def test_objects_on_the_way_to_several_fields_are_in_the_tree_once() -> None:
    fields = {"a": {"c": {"x": [1], "y": [1]}, "d": [1]}, "b": {"c": {"x": [1]}}}
    (row,) = rows(pipe(match={"data": fields}), pipe("q", match={"data": {"a": {"c": [1], "e": [1]}}}))

    assert row[3] == (
        ["a", "b"],
        [],
        [
            ([(0, "c"), (1, "c")], [(0, "d"), (0, "c"), (0, "e")]),
            ([], [(0, "x"), (0, "y"), (1, "x")]),
        ],
    )
    assert [[condition[0] for condition in each[3]] for each in row[4]] == [[3, 4, 0, 5], [1, 2]]


def test_a_tree_of_very_many_names_is_made_in_time() -> None:
    began = time.process_time()
    tree = tree_of(slots((f"n{number}", *["a"] * 120) for number in range(2_000)))

    assert (tree.levels, tree.most_names) == (120, 2_000)
    assert time.process_time() - began < 2


def test_what_an_event_may_take_a_byte_is_that_of_one_path() -> None:
    apart = rows(*(pipe(f"p{n}", match={"data": {f"f{n}": [{"prefix": "a"}]}}) for n in range(1_000)))
    together = rows(*(pipe(f"p{n}", match={"data": {"f": [{"prefix": "a"}]}}) for n in range(1_000)))

    assert [row[6] for row in (*apart, *together)] == [5_000, 50_000]


def test_most_sources_compare_no_attribute_so_often_that_it_is_counted() -> None:
    (row,) = rows(*(pipe(f"p{n}", match={"type": [{"prefix": ["a", "b"]}]}) for n in range(10_000)))

    assert row[7] < MATCHING_STEPS


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
