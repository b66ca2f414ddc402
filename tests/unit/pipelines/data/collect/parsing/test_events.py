"""collect's event from a raw one: above all, unchanged data."""

import base64
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.collect.parsing.content_types import Format, split
from pipelines.data.collect.parsing.events import read_event
from shared.cloudevents.events import AcceptedEvent, RequestContext
from shared.cloudevents.refusal import Refusal
from shared.contracts.envelope import CollectedItem, encode_item, join_items
from tests.strategies import json_texts

NOW = 1_795_255_200_123
NAMES = st.one_of(
    st.text("aZ9_é\0", max_size=3), st.sampled_from(["id", "source", "time", "data_base64", "a1"])
)
AT = RequestContext.at(NOW, "players", lambda: "new-id")


def raw_event(data: str, /, **members: object) -> bytes:
    head = json.dumps({"specversion": "1.0", "id": "1", "source": "/s", "type": "t"} | members)
    return f'{head[:-1]}, "data" : {data} }}'.encode()


def take(raw: bytes, form: Format = Format.EVENT) -> CollectedItem:
    found = read_event(form, raw, AT)
    assert isinstance(found, AcceptedEvent), found
    return found.item


def refuse(raw: bytes) -> Refusal:
    found = read_event(Format.EVENT, raw, AT)
    assert isinstance(found, Refusal)
    return found


@given(json_texts())
def test_the_text_of_data_survives_collect_and_its_record(text: str) -> None:
    item = take(raw_event(text))
    assert item.data == text
    (again,) = msgspec.json.decode(join_items([encode_item(item)]), type=list[CollectedItem])
    assert again == item


@given(st.lists(json_texts(), min_size=1, max_size=5))
def test_a_batch_is_cut_into_the_texts_it_was_made_of(texts: list[str]) -> None:
    body = b" [ " + b" , ".join(raw_event(text) for text in texts) + b" ]\n"
    assert [take(bytes(raw)).data for raw in split(Format.BATCH, body)] == texts


@given(st.lists(st.tuples(st.text(max_size=5).map(json.dumps), json_texts()), max_size=4))
def test_plain_objects_are_kept_whole(members: list[tuple[str, str]]) -> None:
    text = "{" + " ,".join(f"{name}: {value}" for name, value in members) + "}"
    (raw,) = split(Format.PLAIN, f"\r\n {text}\t".encode())
    assert take(raw, Format.PLAIN).data == text


@given(st.text())
def test_a_string_of_another_type_is_its_text(text: str) -> None:
    assert take(raw_event(json.dumps(text), datacontenttype="text/plain")).data == text


@given(st.binary())
def test_binary_data_keeps_its_bytes(data: bytes) -> None:
    encoded = base64.b64encode(data).decode()
    raw = json.dumps(
        {
            "specversion": "1.0",
            "id": "1",
            "source": "/s",
            "type": "t",
            "datacontenttype": "a/b",
            "data_base64": encoded,
        }
    )
    item = take(raw.encode())
    assert item.data is None
    assert base64.b64decode(item.data_base64 or "") == data


def test_binary_data_that_is_json_travels_as_text() -> None:
    raw = raw_event("0").replace(b'"data" : 0', b'"data_base64" : "eyJhIjoxLjEwfQ=="')
    assert take(raw).data == '{"a":1.10}'


@given(st.binary(max_size=200))
def test_any_bytes_at_all_are_taken_or_refused(raw: bytes) -> None:
    for form in Format:
        assert isinstance(read_event(form, raw, AT), AcceptedEvent | Refusal)


@given(json_texts())
def test_any_json_at_all_is_taken_or_refused(text: str) -> None:
    assert isinstance(read_event(Format.EVENT, text.encode(), AT), AcceptedEvent | Refusal)


@given(st.dictionaries(NAMES, st.one_of(st.none(), st.text(), st.integers(), st.booleans(), st.just([]))))
def test_any_attributes_at_all_are_taken_or_refused(members: dict[str, object]) -> None:
    found = read_event(
        Format.EVENT, raw_event("1", **members), AT
    )  # the member data occurs twice: the last one counts
    assert isinstance(found, AcceptedEvent | Refusal)
    if isinstance(found, AcceptedEvent):
        assert all(name.isascii() and name.isalnum() for name in found.item.attributes)


def test_integers_of_32_bits_are_taken() -> None:
    attributes = take(raw_event("1", a=2**31 - 1, b=-(2**31))).attributes
    assert (attributes["a"], attributes["b"]) == ("2147483647", "-2147483648")


def test_numbers_and_booleans_become_canonical_text() -> None:
    attributes = take(raw_event("1", a=-7, b=True, c=False, d=None)).attributes
    assert {name: attributes.get(name) for name in "abcd"} == {
        "a": "-7",
        "b": "true",
        "c": "false",
        "d": None,
    }


@pytest.mark.parametrize(
    ("time", "minute", "late"),
    [
        ("2026-11-21T10:00:00.123Z", 0, False),
        ("2026-11-21T09:55:00.123Z", -5, False),
        ("2026-11-21T09:55:00.122Z", 0, True),
        ("2026-11-21T10:00:30.123Z", 0, False),
        ("2026-11-21T10:00:30.124Z", 0, True),
        ("1970-01-01T00:00:00Z", 0, True),
        ("9999-12-31T23:59:59Z", 0, True),
    ],
)
def test_the_minute_follows_the_event_time_inside_the_window(time: str, minute: int, late: bool) -> None:
    found = read_event(Format.EVENT, raw_event("1", time=time), AT)
    assert isinstance(found, AcceptedEvent)
    assert (found.item.minute - NOW // 60_000, found.late) == (minute, late)
    assert found.item.attributes["time"] == time


def test_long_strings_are_no_long_numbers_or_names() -> None:
    digits, name = "1" * 5_000, "n" * 50_000
    text = f'{{"a":"{digits}","b":"{"n" * 60_000}","{name}":"\\"{digits}"}}'

    assert take(raw_event(text)).data == text


@pytest.mark.parametrize("data", ["1.10", '{"a":1}', "true", "[]"])
def test_data_of_a_text_format_is_a_string(data: str) -> None:
    refusal = refuse(
        f'{{"specversion":"1.0","id":"i","source":"s","type":"t","datacontenttype":"text/plain","data":{data}}}'.encode()
    )
    assert refusal.field == "data"


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (b'{"a":1', "truncated"),
        (b'{"a":"x', "truncated"),
        (b"{} {}", "follows"),
        (b"", "empty"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ("{}".encode("utf-16"), "UTF-16"),
        (b'{"a":"\xff"}', "UTF-8 at byte 6"),
        (rb'{"a":"\ud800"}', "surrogate"),
        (rb'{"a":"\udc00 "}', "surrogate"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":-Infinity}', "-Infinity"),
        (b'{"a":1e400}', "range"),
        (b'{"a":' + b"9" * 5000 + b"}", "range"),
        (b'{"a":-' + b"9" * 309 + b"}", "range"),
        (b'{"a":[1' + b"0" * 309 + b"]}", "range"),
        (b"[" * 100_000, "nested"),
        (b'{"a":01}', "not JSON"),
        (b'{"a":0.' + b"1" * 999 + b"}", "1000 characters"),
        (
            b'{"a":[1,-' + b"1" * 300 + b'.5],"b":"' + b"1" * 2000 + b'","c":' + b"0." + b"1" * 999 + b"}",
            "1000",
        ),
        (b'{"' + b"n" * 50_001 + b'" : 1}', "50000 bytes"),
    ],
)
def test_the_refusal_names_what_is_wrong(raw: bytes, word: str) -> None:
    assert word in refuse(raw).detail


@pytest.mark.parametrize("number", ["1" + "0" * 308, "-1" + "0" * 308, "9" * 400 + "e-300", "0." + "1" * 400])
def test_long_numbers_within_a_doubles_range_are_taken(number: str) -> None:
    data = f'{{"a":"{"9" * 400}","b":{number}}}'
    assert take(raw_event(data)).data == data


@given(st.text("QUJD9+/=", max_size=12))
def test_base64_is_whole_quads_as_every_later_node_reads_it(encoded: str) -> None:
    raw = raw_event("0", datacontenttype="text/plain")
    raw = raw.replace(b'"data" : 0', f'"data_base64" : "{encoded}"'.encode())
    padding = encoded[-2:].count("=")
    body = encoded.removesuffix("=").removesuffix("=") if padding else encoded
    valid = "=" not in body and len(encoded) % 4 == 0
    if valid:
        assert take(raw).data_base64 == encoded
    else:
        assert refuse(raw).field == "data_base64"
