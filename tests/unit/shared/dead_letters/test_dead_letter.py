"""Dead letters: filters, and records of a replay."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import headers as h
from shared.contracts.headers import Headers
from shared.contracts.replays import LetterKey, decode_replay, encode_replay
from shared.contracts.topics import Topic
from shared.dead_letters.dead_letter import (
    DeadLetter,
    Filter,
    as_mapping,
    copy_of,
    letter_of,
    reference,
)

NOW = 1_800_000_000_000
SHOP: Headers = [(h.TENANT, b"acme"), (h.PIPE, b"shop")]
OWN = (*h.OF_A_TRY, h.ATTEMPT, h.PIPES, h.LETTER)
header = st.tuples(st.sampled_from([*OWN, h.PIPE, h.CE_ID, "ce_x", "x"]), st.none() | st.binary(max_size=8))
keys = st.builds(LetterKey, st.integers(0, 9), st.integers(0, 2**40), st.integers(0, 2**41))


def letter(headers: Headers, value: bytes | None = b"{}", written_ms: int = NOW) -> DeadLetter:
    return letter_of(LetterKey(0, 7, written_ms), b"k" * 16, value, headers, {("acme", "shop"): "till"})


@given(st.lists(header, max_size=12), st.none() | st.binary(max_size=20))
def test_a_copy_is_the_record_as_it_was_and_names_its_letter(headers: Headers, value: bytes | None) -> None:
    copy = copy_of(letter(headers, value))
    assert (copy.topic, copy.key, copy.value) == (Topic.OUTBOUND, b"k" * 16, value)
    assert copy.headers[:-2] == [one for one in headers if one[0] not in OWN]
    assert copy.headers[-2:] == [(h.ATTEMPT, b"1"), (h.LETTER, b"0/7")]


@given(st.lists(keys, max_size=30), st.integers(0, 2**41))
def test_replays_are_read_as_they_were_written(letters: list[LetterKey], at_ms: int) -> None:
    found = decode_replay(encode_replay(at_ms, letters))
    assert (found.at_ms, found.letters) == (at_ms, letters)
    assert set(found.letters) == set(letters), "usable as keys"


def test_a_letter_belongs_to_the_destination_it_names_or_else_to_its_pipes() -> None:
    assert letter([*SHOP]).destination == "till"
    assert letter([*SHOP, (h.DESTINATION, b"old")]).destination == "old"
    assert letter([*SHOP, (h.DESTINATION, b"")]).destination == "", (
        "its pipe had no destination when it was written"
    )
    assert letter([(h.TENANT, b"acme"), (h.PIPE, b"gone")]).destination == ""
    assert letter([(h.TENANT, b"zoo"), (h.PIPE, b"shop")]).destination == "", "another tenant's pipe"


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        (Filter(), True),
        (Filter(pipe="shop", destination="till", reason="ANSWERED 404"), True),
        (Filter(pipe="bank"), False),
        (Filter(destination="shop"), False),
        (Filter(reason="500"), False),
        (Filter(since_ms=NOW, until_ms=NOW + 1), True),
        (Filter(since_ms=NOW + 1), False),
        (Filter(until_ms=NOW), False),
        (Filter(event_id="e1"), True),
        (Filter(event_id="e"), False),
        (Filter(places=frozenset({(0, 7)})), True),
        (Filter(places=frozenset({(0, 8), (1, 7)})), False),
    ],
)
def test_a_filter_takes_letters_that_meet_all_conditions(wanted: Filter, taken: bool) -> None:
    said = b"refused: the destination answered 404"
    assert wanted.takes(letter([*SHOP, (h.REASON, said), (h.CE_ID, b"e1")])) is taken


def test_a_letter_shows_its_data_only_where_it_is_asked_for() -> None:
    binary = letter([(h.STATUS, b""), (h.ATTEMPT, b"3")], value=b"\xff\x00")
    facts = as_mapping(binary, {binary.key: 5}, body=True)
    assert base64.b64decode(facts["data_base64"]) == b"\xff\x00"
    assert (facts["status"], facts["attempt"], facts["replayed_ms"], facts["bytes"]) == (None, 3, 5, 2)
    assert not {"data", "data_base64"} & set(as_mapping(binary, {}, body=False))


@pytest.mark.parametrize("text", ["7", "0/", "/7", "0/7/1", "e0", "-1/2", "0/٣"])
def test_any_other_text_is_an_event_id(text: str) -> None:
    assert reference(text) is None


def test_a_reference_names_partition_and_offset() -> None:
    assert reference("0/123") == (0, 123)
