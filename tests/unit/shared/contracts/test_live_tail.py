"""Live tail messages are read as written, in whatever pieces they arrive."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from shared.contracts.live_tail import Message, MessageReader, TailMessage, encoded

texts = st.dictionaries(st.text(max_size=5), st.text(max_size=9))
messages = st.tuples(st.sampled_from(list(TailMessage)), texts)


@given(st.lists(messages, max_size=5), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_messages_are_read_as_they_were_written_in_pieces_of_any_size(
    sent: list[tuple[TailMessage, dict[str, Any]]], sizes: list[int]
) -> None:
    stream = b":\n\n".join([b"", *(encoded(*each) for each in sent)])
    reader, at = MessageReader(), 0
    found: list[Message] = []
    while at < len(stream):
        size = sizes[at % len(sizes)]
        found += reader.feed(stream[at : at + size])
        at += size
    assert [(name, json.loads(data)) for name, data in found] == sent


def test_an_event_with_line_breaks_of_any_kind_stays_one_message() -> None:
    event = b'{"a":\r\n1,\r"b":\n"\xe2\x80\xa8"}'
    (found,) = MessageReader().feed(encoded(TailMessage.EVENT, {"event": Raw(event)}))
    assert found == Message("event", b'{"event":{"a":\n1,\n"b":\n"\xe2\x80\xa8"}}')
