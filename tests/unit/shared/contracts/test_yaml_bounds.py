"""A small YAML text cannot become a large document, and a deep one is refused with its limit."""

import time
import tracemalloc

import pytest

from shared.contracts.limits import MAX_DOCUMENT_DEPTH
from shared.contracts.yaml_bounds import YamlError
from shared.documents.yaml_loader import sections

SECONDS = 20.0
"""Seconds of CPU time; a text that expands takes minutes."""

MEBIBYTE = 1024 * 1024


def laughs(levels: int, first: str, again: str = "[{}]") -> str:
    """Lines that each repeat the one before ten times."""
    lines = [f"a0: &a0 {first}"]
    for level in range(1, levels):
        repeated = again.format(", ".join([f"*a{level - 1}"] * 10))
        lines.append(f"a{level}: &a{level} {repeated}")
    return "\n".join(lines)


def refusal(text: str) -> YamlError:
    with pytest.raises(YamlError) as caught:
        list(sections(text))
    return caught.value


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (laughs(9, "[lol, lol]"), 6),
        (laughs(9, "{a: b}", "{{<<: [{}]}}"), 6),
        (laughs(3, '"' + "x" * 40_000 + '"'), 2),
        ("\n".join(f"---\na: &a {'x' * 1_000}\nb: [{', '.join(['*a'] * 200)}]" for _ in range(50)), 6),
    ],
    ids=["nested lists", "merged mappings", "a long text", "many documents"],
)
def test_aliases_that_multiply_are_refused_with_their_line_and_the_fix(text: str, line: int) -> None:
    tracemalloc.start()
    began = time.thread_time()
    found = refusal(text)
    spent, (_, peak) = time.thread_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "write" in str(found), found
    assert "aliases" in str(found), found
    assert found.line >= line
    assert spent < SECONDS
    assert peak < 100 * MEBIBYTE


def test_an_alias_inside_its_own_anchor_is_refused_at_its_line() -> None:
    found = refusal("kind: pipe\nmatch: &a\n  data: [*a]\n")
    assert (found.line, str(found)) == (3, "an alias inside its own anchor")


def test_anchors_that_save_typing_are_taken() -> None:
    (found,) = sections("a: &a {x: [1, 2]}\nb: *a\nc: {<<: *a, y: 3}\n")
    assert found.value == {"a": {"x": [1, 2]}, "b": {"x": [1, 2]}, "c": {"x": [1, 2], "y": 3}}


def nested(levels: int) -> str:
    return "kind: pipe\nmatch: " + "[" * (levels - 1) + "]" * (levels - 1)


def test_the_deepest_document_is_read_and_one_level_more_is_refused_by_the_limit() -> None:
    (found,) = sections(nested(MAX_DOCUMENT_DEPTH))
    assert found.value["kind"] == "pipe"
    for deeper in (MAX_DOCUMENT_DEPTH + 1, 100_000):
        refused = refusal(nested(deeper))
        assert (refused.line, f"{MAX_DOCUMENT_DEPTH} levels" in str(refused)) == (2, True)


def test_aliases_do_not_make_a_document_deeper_than_the_limit() -> None:
    half = MAX_DOCUMENT_DEPTH // 2
    text = f"a: &a {'[' * half}1{']' * half}\nb: {'[' * half}*a{']' * half}\n"
    assert (refusal(text).line, "levels" in str(refusal(text))) == (2, True)
