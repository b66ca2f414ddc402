"""The outcome of a try for each event of a batch."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.admission.gate import BreakerOpen, Moved, NoTurn
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.delivery.decide import Delivered, Policy, RetryLater, SlowLane
from pipelines.data.transmit.delivery.outcomes import (
    Answered,
    Failed,
    Outcomes,
    Try,
    TryContext,
    outcomes,
    refused,
)
from pipelines.data.transmit.delivery.pipe_resolver import ResolvedPipe
from pipelines.data.transmit.delivery.request_batch import RequestBatch
from pipelines.data.transmit.events import Event
from shared.contracts.documents import Batch, Destination, Pipe
from shared.contracts.topics import Topic
from tests.unit.pipelines.data.transmit.transmit_events import event

POLICY = Policy(local_tries=3, pause=0.1, pause_limit=1.0, give_up=timedelta(hours=24))
MOMENT = TryContext(now_ms=1_740_000_000_500, seconds_left=5.0, closed=True)
STATUSES = st.sampled_from([None, 200, 204, 301, 400, 408, 413, 429, 500, 503])
ANSWERS = st.builds(
    Answer,
    status=STATUSES,
    error=st.sampled_from(["", "connect: refused"]),
    retry_after=st.sampled_from([None, "0", "3", "9000"]),
    later=st.booleans(),
)
BATCHES = st.lists(st.tuples(ANSWERS, st.sampled_from([None, 1_739_999_000_000])), min_size=1, max_size=12)


def batch(count: int, tries: int = 1, first_tries: Sequence[int | None] = ()) -> RequestBatch:
    destination = Destination(name="shop", tenant="acme", connector="webhook", options={})
    pipe = Pipe(name="p1", tenant="acme", source="players", destination="shop")
    firsts = [*first_tries, *[None] * (count - len(first_tries))]
    events = [event(id=f"e{n}", first_try=first) for n, first in enumerate(firsts)]
    target = ResolvedPipe(pipe, destination, None, None, Batch())
    return RequestBatch(resolved=target, attempt=1, events=events, started_ms=1_740_000_000_000, tries=tries)


def moment(left: float, closed: bool) -> TryContext:
    return TryContext(now_ms=MOMENT.now_ms, seconds_left=left, closed=closed)


def decided(of: RequestBatch, tried: Try, at: TryContext = MOMENT) -> Outcomes:
    return outcomes(of, tried, at, POLICY, 0.5)


def ids(events: Sequence[Event]) -> list[str]:
    return [each.id for each in events]


@given(BATCHES, st.integers(1, 4), st.floats(0, 10), st.booleans())
def test_each_event_of_a_batch_comes_to_exactly_one_outcome(
    given_answers: list[tuple[Answer, int | None]], tries: int, left: float, closed: bool
) -> None:
    answers = [answer for answer, _ in given_answers]
    whole = batch(len(answers), tries, [first for _, first in given_answers])
    found = decided(whole, Answered(answers), moment(left, closed))
    ended = [each for some in found.ended for each in some.events]
    apart = [each for part in found.parts for each in part]
    assert sorted(ids([*ended, *found.again, *apart])) == sorted(ids(whole.events))


@given(BATCHES)
def test_delivered_events_are_never_sent_again(given_answers: list[tuple[Answer, int | None]]) -> None:
    answers = [answer for answer, _ in given_answers]
    whole = batch(len(answers))
    found = decided(whole, Answered(answers))
    arrived = {e.id for e, a in zip(whole.events, answers, strict=True) if a.status in (200, 204)}
    ended = {e.id for some in found.ended if isinstance(some.outcome, Delivered) for e in some.events}
    assert ended == arrived


@given(st.sampled_from(["deadline: no turn", "breaker_open: not tried"]), st.integers(1, 5))
def test_a_request_that_was_not_made_leaves_its_events_to_the_retry_topics(reason: str, count: int) -> None:
    (ended,) = decided(batch(count), Failed(reason)).ended
    assert isinstance(ended.outcome, RetryLater)
    assert ended.outcome.reason == reason
    assert len(ended.events) == count


def test_a_destination_that_moved_takes_its_events_along_untried() -> None:
    (ended,) = decided(batch(3, tries=0), Moved()).ended
    assert ended.outcome == SlowLane()
    assert decided(batch(0), Moved()) == Outcomes(ended=[])


def test_a_batch_that_is_too_large_is_tried_again_in_halves_at_once() -> None:
    found = decided(batch(5), Answered([Answer(status=413)] * 5))
    assert [len(part) for part in found.parts] == [2, 3]
    assert not found.ended
    assert not found.again


def test_a_breaker_that_has_just_opened_counts_as_an_attempt_only_after_a_try() -> None:
    young = BreakerOpen(30.0, young=True)
    assert refused(batch(1, tries=0), young) == Failed(f"breaker_open: 'shop' is {young}", counted=False)
    assert refused(batch(1, tries=1), young) == Failed(f"breaker_open: 'shop' is {young}", counted=True)
    assert refused(batch(1), Moved()) == Moved()


@pytest.mark.parametrize(
    ("seconds", "topic", "wait"),
    [
        (0.0, Topic.RETRY_IN_30S, 30),
        (12.5, Topic.RETRY_IN_30S, 30),
        (44.2, Topic.RETRY_IN_5M, 45),
        (4000.0, Topic.RETRY_IN_1H, 3600),
    ],
)
def test_an_event_without_a_turn_waits_as_long_as_it_must_and_loses_no_attempt(
    seconds: float, topic: Topic, wait: int
) -> None:
    unsent = batch(2, tries=0)
    (ended,) = decided(unsent, refused(unsent, NoTurn(seconds))).ended
    reason = "deadline: no turn for 'shop' in this micro-batch"
    assert ended.outcome == RetryLater(topic, MOMENT.now_ms + 1000 * wait, 0, reason)


def test_an_event_without_a_second_turn_has_made_an_attempt() -> None:
    sent = batch(1, tries=1)
    (ended,) = decided(sent, refused(sent, NoTurn())).ended
    assert isinstance(ended.outcome, RetryLater)
    assert ended.outcome.attempts == 1


def test_a_part_of_a_batch_has_not_failed_a_try() -> None:
    sent = batch(4, tries=0).sent(10.0)
    assert (sent.tries, sent.tried) == (1, 10.0)
    assert sent.part(sent.events[:2]).tries == 0
    assert sent.sent(11.0).tried == 10.0
    assert ids(sent.of(sent.events[1:]).events) == ["e1", "e2", "e3"]
