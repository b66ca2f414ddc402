"""A user's events are sent exactly as they are in the file."""

import gzip
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.load.event_files import BODY_BYTES, FileError, FileEvents, StampedEvents, raw_events
from scripts.load.event_source import LINES, PLAIN
from tests.strategies import json_texts

EVENT = b'{"specversion":"1.0","id":"%d","source":"s","type":"t","data":{"n":1.10,"n":2}}'


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("pack", [lambda b: b, gzip.compress])
def test_ndjson_plain_or_gzipped_is_read_line_by_line(tmp_path: Path, pack: type[bytes]) -> None:
    lines = [EVENT % number for number in range(3)]
    path = write(tmp_path / "events", pack(b"\n\n".join(lines) + b"\r\n"))
    assert list(raw_events(path)) == lines


def test_an_array_gives_its_items_byte_for_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", b' [ {"a": 1.10 ,"a":2},\n{"b":1e5} ] ')
    assert list(raw_events(path)) == [b'{"a": 1.10 ,"a":2}', b'{"b":1e5}']


def test_one_object_over_several_lines_is_one_event(tmp_path: Path) -> None:
    assert list(raw_events(write(tmp_path / "o.json", b'{\n"a": 1\n}\n'))) == [b'{\n"a": 1\n}']


@pytest.mark.parametrize("content", [b"", b"\n \n", b"hello\nworld", b"[1, 2"])
def test_files_without_events_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(FileError):
        list(raw_events(write(tmp_path / "x", content)))


@pytest.mark.parametrize("bad", [b"oops", b'{"a":1},{"b":2}', b"[]", b'{"a":1'])
def test_a_bad_line_among_plain_objects_is_named_as_it_would_have_its_whole_request_refused(
    tmp_path: Path, bad: bytes
) -> None:
    path = write(tmp_path / "x", b'{"a":1}\n\n{"a":2}\n' + bad + b'\n{"a":3}\n')
    with pytest.raises(FileError, match="line 4 is not a JSON object"):
        list(raw_events(path))


def test_a_bad_line_among_cloudevents_is_sent_for_collect_to_refuse_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "x", EVENT % 1 + b"\noops\n" + EVENT % 2)
    assert list(raw_events(path)) == [EVENT % 1, b"oops", EVENT % 2]


def test_cloudevents_go_as_lines_and_plain_objects_as_an_array() -> None:
    assert FileEvents([EVENT % 1]).content_type == LINES
    plain = FileEvents([b'{"a":1}', b'{"a":2}', b'{"a":3}'])
    assert plain.content_type == PLAIN
    taken = [plain.take(2, 0), plain.take(2, 0), plain.take(2, 0)]
    assert [each and each.body for each in taken] == [b'[{"a":1},{"a":2}]', b'[{"a":3}]', None]


@given(st.lists(json_texts(), min_size=1, max_size=5))
def test_stamping_changes_only_id_and_time(datas: list[str]) -> None:
    events = [b'{"id":"e","specversion":"1.0","time":"x","data":%b}' % data.encode() for data in datas]
    bundle = StampedEvents(events, "run", rounds=1).take(100, 0)
    assert bundle
    sent = msgspec.json.decode(bundle.body, type=list[dict[str, msgspec.Raw]])
    assert [bytes(event["data"]).decode() for event in sent] == [data.strip() for data in datas]
    assert [msgspec.json.decode(event["id"]) for event in sent] == bundle.ids
    assert {bytes(event["time"]) for event in sent} == {b'"1970-01-01T00:00:00.000Z"'}


def test_repeated_events_get_new_ids() -> None:
    source = StampedEvents([EVENT % 1, EVENT % 2], "run", rounds=None)
    names = [name for _ in range(5) for name in source.take(3, 0).ids]  # type: ignore[union-attr]
    assert len(set(names)) == 15


def test_stamping_makes_a_plain_object_the_data_of_an_event() -> None:
    bundle = StampedEvents([b'{"a":1.10}'], "run", rounds=1).take(1, 0)
    assert bundle
    assert bundle.body.count(b'"data":{"a":1.10}') == 1
    assert bundle.ids == ["1-run-0"]


def test_requests_of_large_stamped_events_are_no_larger_than_others_and_leave_out_none() -> None:
    large = [msgspec.json.encode({"data": "x" * 100_000}) for _ in range(100)]
    source, bodies, ids = StampedEvents(large, "run", rounds=1), list[bytes](), list[str]()
    while taken := source.take(100, 0):
        bodies.append(taken.body)
        ids += taken.ids
        assert taken.count == len(taken.ids) == len(msgspec.json.decode(taken.body))
    assert max(map(len, bodies)) <= BODY_BYTES + 101_000
    assert len(bodies) == 3
    assert ids == [f"{number + 1}-run-{number}" for number in range(100)]
