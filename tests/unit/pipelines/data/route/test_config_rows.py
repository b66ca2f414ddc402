"""Pipes as rows: each path once, bad pipes left out."""

from typing import Any

from pipelines.data.route.config_rows import source_rows, valid_pipes
from shared.contracts.documents import Catalogue, Entry, Pipe, Source, kind_of, topic_key


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
