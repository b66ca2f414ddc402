"""Request bodies have the events' content in each of the four formats."""

import base64
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.connectors.http.formats import body as batch_body
from pipelines.data.transmit.connectors.http.formats import content
from shared.transformation.event_content import structured
from tests.unit.pipelines.data.transmit.transmit_events import event

EXACT = b'{"n": 12345678901234567890.10, "a":1,"a":2, "s":"\\u00e9\\n"}'


def test_a_batch_is_an_array_of_cloud_events() -> None:
    kind, body = content("batch", [event(1), event(2)])
    assert kind == "application/cloudevents-batch+json; charset=utf-8"
    assert [(e["id"], e["specversion"], e["data"]) for e in json.loads(body)] == [
        ("e1", "1.0", {"n": 1}),
        ("e2", "1.0", {"n": 2}),
    ]


def test_an_array_holds_nothing_but_data_byte_for_byte() -> None:
    assert content("array", [event(1, value=EXACT), event(2, value=b"7")]) == (
        "application/json",
        b"[" + EXACT + b",7]",
    )


@pytest.mark.parametrize(
    ("content_type", "value", "item"),
    [
        ("text/plain", b'a "b": c\n', 'a "b": c\n'),
        ("image/png", b"\xff\x00:", base64.b64encode(b"\xff\x00:").decode()),
        ("application/json", None, None),
        ("text/plain", None, None),
        ("application/ld+json", b'{"a":1}', {"a": 1}),
    ],
)
def test_data_that_is_not_json_is_an_item_all_the_same(
    content_type: str, value: bytes | None, item: object
) -> None:
    events = [event(1), event(2, value=value, content_type=content_type), event(3)]
    assert json.loads(content("array", events).body) == [{"n": 1}, item, {"n": 3}]


def test_an_event_is_one_cloud_event() -> None:
    kind, body = content("event", [event(1, value=EXACT)])
    assert kind == "application/cloudevents+json; charset=utf-8"
    assert body.endswith(b',"data":' + EXACT + b"}")
    with pytest.raises(ValueError, match="too many"):
        content("event", [event(1), event(2)])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.lists(JSON, min_size=1, max_size=5), st.sampled_from([None, 0, 2, "\r\n", "\r"]))
def test_a_line_is_one_event_however_its_data_was_laid_out(values: list[object], indent: int | str) -> None:
    events = [
        event(n, value=json.dumps(value, indent=indent, ensure_ascii=False).encode())
        for n, value in enumerate(values)
    ]
    kind, body = content("ndjson", events)
    assert kind == "application/x-ndjson"
    lines = body.decode().removesuffix("\n").split("\n")
    assert "\r" not in body.decode()
    assert [json.loads(line)["data"] for line in lines] == values


JSON_TEXTS = st.recursive(
    st.sampled_from(
        ["12345678901234567890", "0.123456789012345678901234567890", "1.10", '"\\u00e9\\/"', '"\U0001f600"']
    )
    | st.text().map(json.dumps),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda xs: "[ " + ",".join(xs) + "]")
        | st.lists(inner, max_size=3).map(lambda xs: "{" + ",".join(f'"a" : {x}' for x in xs) + "}")
    ),
    max_leaves=10,
)


class Received(msgspec.Struct):
    """An event as read by a destination that keeps the bytes."""

    id: str
    data: msgspec.Raw


@given(st.lists(JSON_TEXTS, min_size=1, max_size=5))
def test_data_arrives_byte_for_byte(texts: list[str]) -> None:
    sent = [event(n, value=text.encode()) for n, text in enumerate(texts)]
    received = msgspec.json.decode(batch_body(sent), type=list[Received])
    assert [r.id for r in received] == [e.id for e in sent]
    assert [bytes(r.data).strip() for r in received] == [(e.value or b"").strip() for e in sent]


@given(st.text())
def test_text_travels_as_a_json_string(text: str) -> None:
    member = json.loads(structured(event(value=text.encode(), content_type="text/plain")))
    assert member["data"] == text


def test_bytes_travel_as_base64_and_absent_data_not_at_all() -> None:
    assert json.loads(structured(event(value=b"\xff\x00", content_type="image/png")))["data_base64"] == "/wA="
    assert "data" not in json.loads(structured(event(value=None)))
