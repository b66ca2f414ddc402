"""When a waiting record is released, with which headers, and with a continued attempt count."""

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.retry.decide import WaitingRecord, delayed_record
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.delivery.decide import Dead, Policy, RetryLater, Situation, decide
from pipelines.data.transmit.delivery.kafka_rows import Row, SettledEvents, rows
from pipelines.data.transmit.events import Event
from shared.contracts import headers as h
from shared.contracts.headers import Headers, headers_size
from shared.contracts.limits import MAX_HEADERS_BYTES, MAX_READABLE_BYTES
from shared.contracts.retry_times import delay_ms
from shared.contracts.topics import RETRY_DELAYS, Topic
from tests.unit.pipelines.data.transmit.transmit_events import event

NOW = 1_800_000_000_000
POLICY = Policy(local_tries=3, pause=0.05, pause_limit=1.0, give_up=timedelta(hours=24))


def record(
    topic: Topic = Topic.RETRY_IN_30S, written_ms: int = NOW, **headers: bytes | None
) -> WaitingRecord:
    """A waiting record; `headers` replace those that retry reads: not_before, attempt."""
    stamps = {"not_before": str(NOW + 10_000).encode(), "attempt": b"1"} | headers
    read: Headers = [(f"hifi_{name}", value) for name, value in stamps.items()]
    others: Headers = [("ce_id", b"e1"), (h.FIRST_TRY, b"17"), (h.REASON, b"failed: 503"), ("x", None)]
    return WaitingRecord(topic, 0, 7, b"k" * 16, b'{"n": 1.10}', others + read, written_ms)


def test_a_record_leaves_with_its_key_its_bytes_and_the_next_attempt() -> None:
    held = delayed_record(record(attempt=b"9"), NOW)
    assert (held.offset, held.due_ms) == (7, NOW + 10_000)
    topic, key, value, headers = held.output
    assert (topic, key, value) == (Topic.RETRY_OUT, b"k" * 16, b'{"n": 1.10}')
    assert headers == [("ce_id", b"e1"), (h.FIRST_TRY, b"17"), ("x", None), (h.ATTEMPT, b"10")]


@pytest.mark.parametrize("header", ["not_before", "attempt"])
@pytest.mark.parametrize("value", [None, b"", b"soon", b"-5", b"1.5", b"\xff\xfe", b"9" * 5000, b"1 "])
def test_a_record_that_cannot_be_read_leaves_for_quarantine_at_its_turn(
    header: str, value: bytes | None
) -> None:
    unreadable = record(not_before=value) if header == "not_before" else record(attempt=value)
    held = delayed_record(unreadable, NOW)
    assert held.due_ms <= NOW
    assert held.output.topic == Topic.QUARANTINE
    assert (held.output.key, held.output.value) == (unreadable.key, unreadable.value)
    said = dict(held.output.headers)
    assert len(said) == len(held.output.headers), "a header is written twice"
    assert said[h.ORIGIN] == b"retry_in.30s/0/7"
    assert said[h.REASON] == f"unreadable: header hifi_{header} is missing or not a whole number".encode()
    assert said["ce_id"] == b"e1"


def test_a_record_that_was_never_tried_leaves_for_its_first_attempt() -> None:
    held = delayed_record(record(attempt=b"0"), NOW)
    assert dict(held.output.headers)[h.ATTEMPT] == b"1"


def test_an_oversized_record_is_cut_for_quarantine_so_that_it_can_be_written() -> None:
    large = record(attempt=None, extra=b"x" * MAX_HEADERS_BYTES)._replace(value=b"v" * (4 * 1024 * 1024))
    output = delayed_record(large, NOW).output
    assert output.value == b"v" * MAX_READABLE_BYTES
    assert headers_size(output.headers) < 1_000


times = st.integers(0, 10**15 - 1)


@given(st.sampled_from(list(RETRY_DELAYS)), times, st.integers(NOW - 10**9, NOW + 10**9))
def test_nothing_waits_longer_than_its_topics_delay_and_nothing_is_put_off(
    topic: Topic, not_before: int, written: int
) -> None:
    """Whatever a header says, and even if the clock was set back."""
    due = delayed_record(record(topic, written, not_before=str(not_before).encode()), NOW).due_ms
    assert due <= min(not_before, NOW + delay_ms(topic), written + delay_ms(topic))
    if not_before <= min(NOW, written) + delay_ms(topic):
        assert due == not_before  # as long as transmit asked for, and no shorter


def sent_again(moved: Row, now_ms: int) -> tuple[int, Event]:
    """Release time of a retry topic's record, and the event that transmit reads."""
    waiting = WaitingRecord(Topic(moved.topic), 0, 0, moved.key, moved.value, moved.headers, now_ms)
    held = delayed_record(waiting, now_ms)
    assert held.output.topic == Topic.RETRY_OUT
    texts = {name: (value or b"").decode() for name, value in held.output.headers}
    again = event(1, key=held.output.key, value=held.output.value, headers=msgspec.json.encode(texts))
    return held.due_ms, again


def failed(one: Event, now_ms: int) -> tuple[RetryLater | Dead, Row]:
    """A try that ends in 503, and transmit's record of the event."""
    first_ms = now_ms if one.first_try_ms is None else one.first_try_ms
    at = Situation(
        events=1, tries=3, attempt=one.attempt, first_try_ms=first_ms, now_ms=now_ms, seconds_left=5
    )
    outcome = decide(Answer(status=503), at, POLICY, 0.5)
    assert isinstance(outcome, RetryLater | Dead)
    settled = SettledEvents(
        events=[one],
        outcome=outcome,
        tenant=one.tenant,
        destination="d",
        pipe=one.pipe,
        attempt=one.attempt,
        status=503,
        started_ms=now_ms,
        departed_ms=now_ms,
    )
    _, moved = rows(settled)
    return outcome, moved


def test_an_event_is_tried_after_30_s_5_m_then_hourly_and_given_up_a_day_after_its_first_try() -> None:
    one, now_ms = event(1), NOW
    waits: list[int] = []
    outcome, moved = failed(one, now_ms)
    while isinstance(outcome, RetryLater):
        due_ms, again = sent_again(moved, now_ms)
        waits.append((due_ms - now_ms) // 1000)
        assert (again.key, again.value, again.id) == (one.key, one.value, one.id)
        assert (again.attempt, again.first_try_ms) == (len(waits) + 1, NOW)
        now_ms = due_ms
        outcome, moved = failed(again, now_ms)
    assert waits == [30, 300, *[3600] * 23]
    assert moved.topic == Topic.DEAD_LETTER
    said = dict(moved.headers)
    assert (said[h.ATTEMPT], said[h.FIRST_TRY], said[h.STATUS]) == (b"26", str(NOW).encode(), b"503")
    assert (said[h.REASON] or b"").startswith(b"time_over: not delivered within 24 h; last answer: ")
    assert h.NOT_BEFORE not in said
