"""Invalid events are refused one by one with a 400 that names field and fix, through a real socket."""

import pytest

from shared.contracts.limits import MAX_DEPTH, MAX_EVENT_BYTES
from tests.contract.collect.process import (
    BATCH,
    EVENT,
    GOOD,
    LINES,
    PLAIN,
    CollectProcess,
    encoded,
    event,
)


def with_data(data: str) -> bytes:
    return GOOD.replace(b'{"n": 1}', data.encode())


BAD_EVENTS = {
    "truncated": GOOD[:-5],
    "trailing": GOOD + b" x",
    "two objects": GOOD + GOOD,
    "empty": b"",
    "only spaces": b" \r\n",
    "byte order mark": b"\xef\xbb\xbf" + GOOD,
    "UTF-16 with mark": GOOD.decode().encode("utf-16"),
    "UTF-16": GOOD.decode().encode("utf-16-le"),
    "invalid UTF-8": GOOD.replace(b'"n"', b'"\xff"'),
    "overlong UTF-8": GOOD.replace(b'"n"', b'"\xc0\xaf"'),
    "surrogate in UTF-8": GOOD.replace(b'"n"', b'"\xed\xa0\x80"'),
    "lone high surrogate": with_data(r'{"a":"\ud800"}'),
    "lone low surrogate": with_data(r'{"a":"x\udc00y"}'),
    "lone surrogate as a name": with_data(r'{"\ud800":1}'),
    "lone surrogate in an id": GOOD.replace(b'"e1"', rb'"\udfff"'),
    "NaN": with_data('{"a":NaN}'),
    "Infinity": with_data("[Infinity]"),
    "minus Infinity": with_data("-Infinity"),
    "1e400": with_data('{"a":1e400}'),
    "integer without end": with_data("9" * 5000),
    "too deep data": with_data("[" * MAX_DEPTH + "]" * MAX_DEPTH),
    "far too deep data": with_data('{"a":' * 60_000 + "1" + "}" * 60_000),
    "far too deep and open": with_data("[" * 200_000),
    "not an object": b"[1]",
    "a string": b'"x"',
    "null": b"null",
    "control character in a string": with_data('"a\nb"'),
    "too large": with_data('"' + "x" * MAX_EVENT_BYTES + '"'),
    "id too long": encoded(event(id="x" * 257)),
    "id too long in bytes": encoded(event(id="ü" * 129)),
    "id empty": encoded(event(id="")),
    "id a number": encoded(event(id=7)),
    "id with NUL": encoded(event(id="a\0b")),
    "id with newline": encoded(event(id="a\nb")),
    "no id": encoded(event(id=None)),
    "no source": encoded(event(source=None)),
    "no type": encoded(event(type=None)),
    "no specversion": encoded(event(specversion=None)),
    "another specversion": encoded(event(specversion="0.3")),
    "attribute in capitals": encoded(event(traceId="x")),
    "attribute with underscore": encoded(event(trace_id="x")),
    "attribute without a name": encoded(event(**{"": "x"})),
    "attribute an object": encoded(event(extra={})),
    "attribute an array": encoded(event(extra=[])),
    "attribute an integer of more than 32 bits": encoded(event(extra=2**31)),
    "attribute a negative integer of more than 32 bits": encoded(event(extra=-(2**31) - 1)),
    "attribute a decimal": encoded(event(extra=1.5)),
    "attribute with a control character": encoded(event(extra="\x7f")),
    "attribute too long": encoded(event(extra="x" * 5000)),
    "too many attributes": encoded(event(**{f"a{n}": 1 for n in range(70)})),
    "time without offset": encoded(event(time="2026-01-01T00:00:00")),
    "time in words": encoded(event(time="yesterday")),
    "time impossible": encoded(event(time="2026-02-30T00:00:00Z")),
    "time a number": encoded(event(time=1767225600)),
    "data twice": encoded(event(data_base64="AA==", datacontenttype="x/y")),
    "bad base64": encoded(event(data=None, data_base64="***", datacontenttype="x/y")),
    "data no string of a text format": encoded(event(data={"n": 1.10}, datacontenttype="text/plain")),
    "a number too long for a later hop": with_data("0." + "1" * 1_000),
    "a name too long for a later hop": with_data('{"' + "n" * 50_001 + '":1}'),
    "binary data that says it is JSON": encoded(event(data=None, data_base64="/w==")),
}


@pytest.mark.parametrize("name", BAD_EVENTS)
def test_a_bad_event_alone_is_400_and_says_why(collect: CollectProcess, name: str) -> None:
    answer = collect.post(BAD_EVENTS[name])
    assert answer.status == 400
    found = answer.json["items"][0] if "items" in answer.json else answer.json
    assert found["detail"]
    assert found["field"]
    assert found["fix"]


ONE_LINE = [name for name, body in BAD_EVENTS.items() if b"\n" not in body and body.strip(b"\0 \r\n")]


@pytest.mark.parametrize("name", ONE_LINE)
def test_a_bad_line_spoils_only_itself(collect: CollectProcess, name: str) -> None:
    answer = collect.post(GOOD + b"\n" + BAD_EVENTS[name] + b"\r\n\r\n" + encoded(event(id="e2")), LINES)
    assert answer.status == 207
    assert [item["status"] for item in answer.json["items"]] == [202, 400, 202]
    assert answer.json["accepted"] == 2
    assert answer.json["refused"] == 1
    assert answer.json["items"][2]["id"] == "e2"


UNCUTTABLE = {"truncated", "trailing", "byte order mark", "UTF-16 with mark", "UTF-16", "far too deep data"}
UNCUTTABLE |= {"far too deep and open", "two objects", "empty", "only spaces"}
IN_A_BATCH = [name for name in BAD_EVENTS if name not in UNCUTTABLE]


@pytest.mark.parametrize("name", IN_A_BATCH)
def test_a_bad_item_of_a_batch_spoils_only_itself(collect: CollectProcess, name: str) -> None:
    answer = collect.post(b"[" + GOOD + b"," + BAD_EVENTS[name] + b"]", BATCH)
    assert answer.status == 207, answer
    assert [item["status"] for item in answer.json["items"]] == [202, 400]


@pytest.mark.parametrize(
    "name", ["truncated", "trailing", "UTF-16", "far too deep data", "far too deep and open"]
)
def test_a_batch_that_cannot_be_cut_is_refused_whole(collect: CollectProcess, name: str) -> None:
    answer = collect.post(b"[" + GOOD + b"," + BAD_EVENTS[name] + b"]", BATCH)
    assert answer.status == 400


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (EVENT, b""),
        (BATCH, b""),
        (BATCH, b"[]"),
        (BATCH, GOOD),
        (LINES, b"\n\n"),
        (PLAIN, b""),
        (PLAIN, b"[]"),
    ],
)
def test_a_request_without_events_is_400(collect: CollectProcess, content_type: str, body: bytes) -> None:
    assert collect.post(body, content_type).status == 400


def test_plain_json_takes_objects_only(collect: CollectProcess) -> None:
    answer = collect.post(b'[{"a":1}, 2, "x", null]', PLAIN)
    assert answer.status == 207
    assert [item["status"] for item in answer.json["items"]] == [202, 400, 400, 400]
