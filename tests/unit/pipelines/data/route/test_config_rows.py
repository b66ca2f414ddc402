"""Pipes as rows: each path once, bad pipes left out."""

from typing import Any

from pipelines.data.route.config_rows import source_rows, valid_pipes
from shared.contracts.documents import Catalogue, Entry, Pipe
from shared.contracts.publish_plan import document_key


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

    assert [row[:4] for row in found] == [
        ("acme", "player", ["ce_type"], [["k"], ["l", "m"]]),
        ("acme", "web", [], []),
    ]
    assert [alternative[0] for alternative in found[0][4]] == ["a", "b"]


def test_content_type_is_looked_for_where_the_envelope_puts_it() -> None:
    (row,) = source_rows([pipe(match={"datacontenttype": ["text/plain"]})], now_ms=0)

    assert row[2] == ["content-type"]


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


def test_two_tenants_sources_of_one_name_have_a_row_each_with_their_own_pipes() -> None:
    found = catalogue(pipe("a"), pipe("a", tenant="zoo", destination="pond"))

    rows = source_rows(valid_pipes(found, 0, lambda bad, why: None), 0)

    assert [(*row[:2], [alternative[0] for alternative in row[4]]) for row in rows] == [
        ("acme", "player", ["a"]),
        ("zoo", "player", ["a"]),
    ]


def catalogue(*found: Pipe) -> Catalogue:
    return Catalogue({document_key(each): Entry(version=1, document=each) for each in found})
