"""The result of a side's proof, by the events that were sent."""

import json

from scripts.local.twins.proving import Comparison, data_of


def test_an_event_counts_once_it_arrived_byte_for_byte() -> None:
    found = Comparison()
    for event in ("a", "b", "c", "d"):
        found.sent(event, b"1.10")
    found.refused("e was answered 503")
    found.arrived("a", b"1.10", b"1.10")
    found.arrived("b", b"1.1", b"1.10")
    for _ in range(3):
        found.arrived("c", b"1.10", b"1.10")
    proof = found.proof()
    assert (proof.sent, proof.arrived, proof.changed, proof.doubled, proof.refused) == (4, 2, 1, 1, 1)
    assert proof.examples == (
        "e was answered 503",
        "b arrived changed",
        "c arrived more than once",
        "d has not arrived",
    )


def test_an_event_that_arrives_before_its_answer_counts_once_it_is_answered() -> None:
    found = Comparison()
    found.arrived("a", b"1", b"1")
    assert found.proof().arrived == 0
    found.sent("a", b"1")
    assert found.proof().arrived == 1


def test_the_data_is_valid_json_that_a_parser_and_writer_would_change() -> None:
    for number in range(8):
        data = data_of(number)
        assert json.dumps(json.loads(data)).encode() != data
