"""A hostile document costs no more than its first problems."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from shared.contracts.document_parsing import parse
from shared.contracts.limits import MAX_DOCUMENT_DEPTH
from shared.documents.check import field_problems
from shared.documents.problems import MOST_PROBLEMS

TIMES = 8
"""As much CPU as it takes to write a document as JSON; for all of 100,000 fields it would be twenty times."""


def cpu_seconds(act: Callable[[], object]) -> float:
    """The least of three times, in which nothing else was counted."""
    found = []
    for _ in range(3):
        began = time.thread_time()
        act()
        found.append(time.thread_time() - began)
    return min(found)


def test_of_very_many_unknown_fields_the_first_are_reported() -> None:
    document = {"kind": "pipe"} | {f"field_{at}": 1 for at in range(100_000)}
    found = list(field_problems(document))
    assert len(found) == MOST_PROBLEMS
    assert found[0][:2] == ("$.field_0", "a pipe has no field 'field_0'")
    spent = cpu_seconds(lambda: list(field_problems(document)))
    assert spent < TIMES * cpu_seconds(lambda: json.dumps(document))


def test_of_very_many_deep_fields_the_first_are_reported() -> None:
    deep = {f"field_{at}": nested(MAX_DOCUMENT_DEPTH) for at in range(3_000)}
    assert len(list(field_problems({"kind": "pipe"} | deep))) == MOST_PROBLEMS


def test_of_very_many_unknown_options_the_first_are_reported() -> None:
    options = {f"option_{at}": 1 for at in range(100_000)}
    document = {"kind": "destination", "name": "a", "tenant": "a", "options": options}
    assert len(list(field_problems(document))) == MOST_PROBLEMS
    spent = cpu_seconds(lambda: list(field_problems(document)))
    assert spent < TIMES * cpu_seconds(lambda: json.dumps(document))


def test_a_long_wrong_value_is_repeated_in_short() -> None:
    said = [message for _, message, _ in field_problems({"kind": "pipe", "name": "A" * 100_000})]
    assert max(map(len, said)) < 200


def nested(levels: int) -> Any:
    value: Any = ["a"]
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def test_the_deepest_document_is_checked_as_any_other() -> None:
    raw = {"kind": "pipe", "name": "p", "tenant": "t", "source": "s", "destination": "d"}
    match = {"data": nested(MAX_DOCUMENT_DEPTH - 2 - 8)}
    assert list(field_problems(raw | {"match": match})) == []
    assert parse(raw | {"match": match})


@pytest.mark.parametrize("levels", [MAX_DOCUMENT_DEPTH, 900, 100_000])
@pytest.mark.parametrize("field", ["kind", "name", "match", "unknown", "options"])
def test_a_deep_field_is_refused_by_name_and_limit_and_not_looked_into(field: str, levels: int) -> None:
    found = list(field_problems({"kind": "destination"} | {field: nested(levels)}))
    assert found == [(f"$.{field}", f"nested more than {MAX_DOCUMENT_DEPTH} levels deep", "write it flatter")]
