"""Limits of JSON texts are exact, and their checks take time proportional to the length."""

import json
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.cloudevents.json_validation import check_limits, too_deep
from shared.contracts.limits import MAX_DEPTH, MAX_EVENT_BYTES, MAX_NUMBER_CHARACTERS
from tests.strategies import json_texts

AT_MOST_TIMES = 12
"""Bound on the costliest text's check time, in multiples of that of a harmless text of the same size."""


def nested(depth: int, inner: str) -> str:
    return "[" * depth + inner + "]" * depth


def measured_depth(value: object) -> int:
    """The definition of depth: levels of lists and objects."""
    deepest, level = 0, [value]
    while level := [each for each in level if isinstance(each, list | dict)]:
        deepest += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return deepest


@given(
    st.lists(st.tuples(st.integers(0, MAX_DEPTH + 4), json_texts()), max_size=6),
    st.integers(0, 2 * MAX_DEPTH),
)
@example([(MAX_DEPTH - 1, "1")], 1)
@example([(MAX_DEPTH, "1")], 1)
@example([(MAX_DEPTH - 3, '{"[": [{"]": "}"}, 1]}')], MAX_DEPTH)
@example([(MAX_DEPTH - 4, '{"[": [{"]": "}"}, []]}')], MAX_DEPTH)
def test_depth_is_that_of_the_parsed_value(parts: list[tuple[int, str]], flat: int) -> None:
    groups = [nested(depth, inner) for depth, inner in parts]
    text = "[" + ",".join(groups + ["[]"] * flat) + "]"
    assert too_deep(text.encode()) is (measured_depth(json.loads(text)) > MAX_DEPTH)


@given(st.integers(MAX_NUMBER_CHARACTERS - 2, MAX_NUMBER_CHARACTERS + 2), st.booleans())
def test_a_number_is_counted_exactly_and_digits_in_strings_are_not(length: int, quoted: bool) -> None:
    digits = "0." + "1" * (length - 2)
    found = check_limits((f'["{digits}"]' if quoted else f'["{digits}", {digits}]').encode())
    assert (found is not None) is (length > MAX_NUMBER_CHARACTERS and not quoted)


def repeated(part: str, between: str) -> bytes:
    return between.join([part] * (MAX_EVENT_BYTES // (len(part) + len(between)) - 1)).encode()


def cpu_seconds(check: Callable[[bytes], object], text: bytes) -> float:
    times = []
    for _ in range(3):
        began = time.thread_time()
        check(text)
        times.append(time.thread_time() - began)
    return min(times)


@pytest.mark.parametrize(
    ("check", "costly", "harmless"),
    [
        (too_deep, b"[" + repeated(nested(MAX_DEPTH - 2, ""), ",") + b"]", b"[" + repeated("[]", ",") + b"]"),
        (
            check_limits,
            b'"' + repeated("e" * MAX_NUMBER_CHARACTERS, "x") + b'"',
            b'"' + repeated("y" * MAX_NUMBER_CHARACTERS, "x") + b'"',
        ),
    ],
    ids=["groups as deep as may be", "runs in a string as long as a number may be"],
)
def test_no_text_takes_many_times_as_long_as_another_of_its_size(
    check: Callable[[bytes], object], costly: bytes, harmless: bytes
) -> None:
    assert not check(costly)
    assert cpu_seconds(check, costly) < AT_MOST_TIMES * cpu_seconds(check, harmless)
