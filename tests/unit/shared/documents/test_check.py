"""Problems found in a document; a hostile one costs no more than its first problems."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from shared.contracts.document_parsing import parse
from shared.contracts.documents import key_digest
from shared.contracts.limits import MAX_DOCUMENT_DEPTH
from shared.documents.check import field_problems
from shared.documents.problems import MOST_PROBLEMS

TIMES = 8
"""Ratio to the CPU time of writing a document as JSON; for all of 100,000 fields it would be twenty."""

MANY = [30_000, pytest.param(100_000, marks=pytest.mark.proof)]
"""Fields of a document."""


def cpu_seconds(act: Callable[[], object]) -> float:
    """The least of three measured times; nothing else was counted."""
    found = []
    for _ in range(3):
        began = time.thread_time()
        act()
        found.append(time.thread_time() - began)
    return min(found)


@pytest.mark.parametrize("count", MANY)
def test_of_very_many_unknown_fields_the_first_are_reported(count: int) -> None:
    document = {"kind": "pipe"} | {f"field_{at}": 1 for at in range(count)}
    found = list(field_problems(document))
    assert len(found) == MOST_PROBLEMS
    assert found[0][:2] == ("$.field_0", "a pipe has no field 'field_0'")
    spent = cpu_seconds(lambda: list(field_problems(document)))
    assert spent < TIMES * cpu_seconds(lambda: json.dumps(document))


@pytest.mark.parametrize("count", [1_000, pytest.param(3_000, marks=pytest.mark.proof)])
def test_of_very_many_deep_fields_the_first_are_reported(count: int) -> None:
    deep = {f"field_{at}": nested(MAX_DOCUMENT_DEPTH) for at in range(count)}
    assert len(list(field_problems({"kind": "pipe"} | deep))) == MOST_PROBLEMS


@pytest.mark.parametrize("count", MANY)
def test_of_very_many_unknown_options_the_first_are_reported(count: int) -> None:
    options = {f"option_{at}": 1 for at in range(count)}
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


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("abcdefgh\n", "has white space around it"),
        (" abcdefgh", "has white space around it"),
        ("abcdefgh\u00a0", "has white space around it"),
        ("abcd\nefgh", "holds a line break or another control character"),
        ("abcd\x00efgh", "holds a line break or another control character"),
        ("abcdefgh\ud800", "holds a line break or another control character"),
        ("sha256:nothing", "begins with sha256: and is not a digest"),
        ("sha256:" + "A" * 64, "begins with sha256: and is not a digest"),
        ("sha256:" + "a" * 64 + "\n", "has white space around it"),
    ],
)
def test_a_write_key_that_no_request_can_have_is_refused_without_repeating_it(key: str, said: str) -> None:
    raw = {"kind": "source", "name": "s", "tenant": "t", "write_keys": ["a-good-key", key]}
    ((path, message, _),) = field_problems(raw)
    assert path == "$.write_keys[1]"
    assert message.startswith(said)
    assert "; write " in message
    assert key.strip() not in message


@pytest.mark.parametrize("key", ["abcdefgh", "a key of words", "schlüssel", "sha256:" + "0a" * 32])
def test_a_write_key_that_requests_can_have_is_taken(key: str) -> None:
    raw = {"kind": "source", "name": "s", "tenant": "t", "write_keys": [key]}
    assert list(field_problems(raw)) == []
    assert parse(raw)


PIPE = {"kind": "pipe", "name": "p", "tenant": "t", "source": "s", "destination": "d"}
SINK = {"kind": "destination", "name": "d", "tenant": "t"}
AUTH = {"type": "bearer", "token": "secret://t/a", "tokn": "secret://t/b"}
MASK = {"path": "$.data.a", "action": "drop", "actoin": "drop"}


@pytest.mark.parametrize(
    ("raw", "path", "meant"),
    [
        (SINK | {"options": {"url": "https://a.io"}, "batch": {"max_event": 3}}, "$.batch", "max_events"),
        (SINK | {"options": {"url": "https://a.io"}, "limits": {"request": 3}}, "$.limits", "requests"),
        (SINK | {"options": {"url": "https://a.example", "auth": AUTH}}, "$.options.auth", "token"),
        (PIPE | {"rollout": {"steps": [1, 100], "step": [1]}}, "$.rollout", "steps"),
        (PIPE | {"ramp": {"start": "2026-01-31T12:00:00Z", "minutes": 1, "minute": 1}}, "$.ramp", "minutes"),
        (PIPE | {"masks": [MASK]}, "$.masks[0]", "action"),
    ],
    ids=["batch", "limits", "auth", "rollout", "ramp", "masks"],
)
def test_of_an_unknown_field_within_a_field_the_one_that_was_probably_meant_is_named(
    raw: dict[str, Any], path: str, meant: str
) -> None:
    ((found, said, fix),) = field_problems(raw)
    (before, _, name) = found.rpartition(".")
    assert before == path
    assert said == f"{path.rpartition('.')[2]} has no field {name!r}"
    assert fix == f"did you mean {meant!r}?"


def test_unknown_fields_within_fields_are_all_found_beside_what_else_is_wrong() -> None:
    raw = PIPE | {"sample": 101, "rollout": {"steps": [100], "foo": 1, "until": 2}, "smaple": 1}
    found = {path: fix for path, _, fix in field_problems(raw)}
    assert set(found) == {"$.sample", "$.rollout.foo", "$.rollout.until", "$.smaple"}
    assert found["$.rollout.foo"] == "known: steps, every, at_least, stop_below, stop_above"


@pytest.mark.parametrize("count", MANY)
def test_of_very_many_unknown_fields_within_a_field_the_first_are_reported(count: int) -> None:
    batch = {f"field_{at}": 1 for at in range(count)}
    document = SINK | {"options": {"url": "https://a.io"}, "batch": batch}
    assert len(list(field_problems(document))) == MOST_PROBLEMS
    spent = cpu_seconds(lambda: list(field_problems(document)))
    assert spent < TIMES * cpu_seconds(lambda: json.dumps(document))


@pytest.mark.parametrize("again", ["a-good-key", key_digest("a-good-key")], ids=["as text", "as digest"])
def test_a_write_key_that_a_source_states_twice_is_named(again: str) -> None:
    source = {
        "kind": "source",
        "name": "s",
        "tenant": "t",
        "write_keys": ["a-good-key", "another-key", again],
    }
    said = "is the same key as write_keys[0]; leave one of them out"
    assert list(field_problems(source)) == [("$.write_keys[2]", said, "")]
