"""Records of undelivered events."""

import pytest

from pipelines.data.transmit.delivery.decide import Dead, End, RetryLater, SlowLane
from pipelines.data.transmit.delivery.kafka_rows import Row, SettledEvents, rows
from shared.contracts import headers as h
from shared.contracts.topics import Topic
from tests.unit.pipelines.data.transmit.transmit_events import event, row


def moved(outcome: End, headers: dict[str, object], destination: str = "shop") -> Row:
    settled = SettledEvents(
        events=[event(1, **headers)],
        outcome=outcome,
        tenant="acme",
        destination=destination,
        pipe="p1",
        attempt=1,
        started_ms=5,
        departed_ms=6,
    )
    return list(rows(settled))[-1]


@pytest.mark.parametrize(
    ("outcome", "topic"),
    [
        (Dead("refused: 404"), Topic.DEAD_LETTER),
        (RetryLater(Topic.RETRY_IN_5M, 9, 1, "x"), Topic.RETRY_IN_5M),
    ],
)
def test_a_record_names_the_destination_of_its_last_try_and_no_other(outcome: End, topic: Topic) -> None:
    earlier = row(1)["headers"]
    assert isinstance(earlier, bytes)
    told = earlier[:-1] + b',"hifi_destination":"of an earlier attempt"}'
    found = moved(outcome, {"headers": told})
    assert found.topic == topic
    assert [value for name, value in found.headers if name == h.DESTINATION] == [b"shop"]


@pytest.mark.parametrize(
    "outcome", [Dead("refused: 404"), RetryLater(Topic.RETRY_IN_5M, 9, 1, "x"), SlowLane()]
)
def test_headers_of_outbound_only_are_dropped(outcome: End) -> None:
    earlier = row(1)["headers"]
    assert isinstance(earlier, bytes)
    found = moved(outcome, {"headers": earlier[:-1] + b',"hifi_pipes":"p1,p2"}'})
    assert h.PIPES not in {name for name, _ in found.headers}


@pytest.mark.parametrize(
    "outcome", [Dead("refused: 404"), RetryLater(Topic.RETRY_IN_5M, 9, 1, "x"), SlowLane()]
)
def test_a_replayed_dead_letter_is_known_as_one_until_its_end(outcome: End) -> None:
    earlier = row(1)["headers"]
    assert isinstance(earlier, bytes)
    found = moved(outcome, {"headers": earlier[:-1] + b',"hifi_letter":"0/7"}'})
    assert [value for name, value in found.headers if name == h.LETTER] == [b"0/7"]


def test_a_waiting_record_says_once_how_many_attempts_were_made() -> None:
    found = moved(RetryLater(Topic.RETRY_IN_30S, 9, 0, "x"), {})
    assert [value for name, value in found.headers if name == h.ATTEMPT] == [b"0"]


def test_a_record_of_a_pipe_without_destination_names_none() -> None:
    found = moved(Dead("unknown_pipe: gone"), {}, destination="")
    assert dict(found.headers)[h.DESTINATION] == b""
