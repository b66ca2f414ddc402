"""Bodies become raw events, and events become records."""

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.collect.errors import RefusedError
from pipelines.data.collect.handler import batch_records
from pipelines.data.collect.parsing.array_items import recover_items
from pipelines.data.collect.parsing.content_types import Format, parse_content_type, split
from shared.cloudevents.json_validation import too_deep
from shared.contracts.limits import MAX_CONTENT_TYPE_CHARACTERS, MAX_DEPTH, MAX_REQUEST_EVENTS
from tests.strategies import json_texts


@given(st.lists(json_texts(), min_size=1, max_size=5))
def test_recovery_cuts_a_valid_array_as_the_parser_does(texts: list[str]) -> None:
    assert recover_items(f"[{' , '.join(texts)}]".encode()) == [text.encode() for text in texts]


@given(st.binary(max_size=60))
def test_recovery_never_raises_and_drops_nothing(text: bytes) -> None:
    items = recover_items(b"[" + text + b"]")
    if items is not None:
        assert sum(map(len, items)) >= len(text) - text.count(b",") - sum(text.count(w) for w in b" \t\r\n")


def test_text_inside_a_string_is_not_recovered_as_an_event() -> None:
    assert recover_items(b'[{"a":"lost quote}, {"b":"x,{},y"}]') is None


def test_recovery_keeps_the_neighbours_of_a_bad_item() -> None:
    assert recover_items(b'[{"a":1}, {"a":NaN} ,{"b":"\\ud800"}]') == [
        b'{"a":1}',
        b'{"a":NaN}',
        b'{"b":"\\ud800"}',
    ]


@given(st.lists(st.binary(min_size=1, max_size=30)), st.integers(2, 64))
def test_chunks_keep_every_item_in_order_below_the_limit(items: list[bytes], limit: int) -> None:
    items = [item.replace(b",", b";") for item in items]
    records = list(batch_records(items, limit))
    assert [part for record in records for part in record[1:-1].split(b",")] == items
    assert all(len(record) <= limit or b"," not in record for record in records)


@pytest.mark.parametrize("count", [1, 999, 1_000, 1_001, MAX_REQUEST_EVENTS - 1, MAX_REQUEST_EVENTS])
@pytest.mark.parametrize("size", [1, 300_000])
def test_an_array_is_split_whatever_its_size(count: int, size: int) -> None:
    items = [b"%d" % n for n in range(1, count)] + [b'"%s"' % (b"x" * size)]
    assert split(Format.PLAIN, b"[" + b" ,".join(items) + b"]") == items


@pytest.mark.parametrize("count", [MAX_REQUEST_EVENTS + 1, 1_000_000])
def test_an_array_of_too_many_is_refused_before_it_takes_memory(count: int) -> None:
    body = b"[" + b"1," * (count - 1) + b"1]"
    tracemalloc.start()
    try:
        with pytest.raises(RefusedError) as caught:
            split(Format.PLAIN, body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.status == 413
    assert peak < 4 * 1024 * 1024


def test_a_bad_item_of_a_large_array_leaves_its_neighbours() -> None:
    large = b'"%s"' % (b"x" * 300_000)
    assert split(Format.PLAIN, b"[1,NaN," + large + b"]") == [b"1", b"NaN", large]


@given(st.integers(1, 2 * MAX_DEPTH), st.sampled_from(["[]", "{}"]))
def test_depth_is_counted_exactly_whatever_strings_hold(depth: int, kind: str) -> None:
    opened, closed = ("[", "]") if kind == "[]" else ('{"[{\\"":', "}")
    text = opened * depth + '"]}\\"[{"' + closed * depth
    assert too_deep(f"[{text}, {'[],' * 200}0]".encode()) is (depth + 1 > MAX_DEPTH)


@pytest.mark.parametrize("body", [b"1\n2", b"1\n2\n", b"1\r\n2\r\n", b"\n1\n\n \n2\n\n"])
def test_lines_end_in_any_way(body: bytes) -> None:
    assert [raw.strip() for raw in split(Format.LINES, body)] == [b"1", b"2"]


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", '"utf-8"'])
def test_utf_8_is_the_one_charset(charset: str) -> None:
    assert parse_content_type(f"application/json; charset={charset}") is Format.PLAIN


@pytest.mark.parametrize(
    "value",
    [
        "",
        "json",
        "application/json; charset=utf-16",
        "text/html",
        ";",
        "a/b" * 9999,
        "application/json; a*=1; a*0=2",
        f"application/json; a*{5_000 * '9'}=x",
        "application/json;" + " " * MAX_CONTENT_TYPE_CHARACTERS,
    ],
)
def test_other_content_types_are_415(value: str) -> None:
    with pytest.raises(RefusedError) as caught:
        parse_content_type(value)
    assert caught.value.status == 415


def test_a_content_type_may_be_as_long_as_the_limit() -> None:
    value = "application/json;".ljust(MAX_CONTENT_TYPE_CHARACTERS)
    assert parse_content_type(value) is Format.PLAIN


def test_a_content_type_of_a_whole_head_takes_no_noticeable_time() -> None:
    began = time.process_time()
    for count in range(59_990, 60_000):
        with pytest.raises(RefusedError):
            parse_content_type('application/json;a="' + ";" * count)
    assert time.process_time() - began < 0.5
