"""trace handles a receiver's answers; receiver and consumer are simulated."""

import threading
from collections.abc import Callable, Iterable
from typing import cast

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from pipelines.control.trace.metrics import TraceMetrics
from pipelines.control.trace.otlp import ExportResult, OtlpExporter
from pipelines.control.trace.service import TraceService
from pipelines.control.trace.span_buffer import BATCH_POINTS, MAX_POINTS, SpanBuffer
from pipelines.control.trace.spans import Span
from shared.contracts.ledger import Stage
from shared.contracts.topics import Topic
from shared.contracts.tracing import TracePoint, encode_trace_point, own_traceparent

Answer = Callable[[list[str]], ExportResult]
"""A receiver's answer to the spans of these events."""


class Record:
    """A record of `traces` with the trace point of one event."""

    def __init__(self, offset: int, event: str) -> None:
        self._offset, self._event = offset, event

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return Topic.TRACES

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes:
        return encode_trace_point(
            TracePoint(
                traceparent=own_traceparent("acme", self._event),
                tenant="acme",
                id=self._event,
                stage=Stage.COLLECTED,
                begin_ms=1,
                end_ms=2,
                topic=Topic.COLLECTED,
                partition=0,
                offset=self._offset,
            )
        )


class Refused(TopicPartition):
    """The brokers' answer to a commit during a rebalance."""

    error = KafkaError(KafkaError.REBALANCE_IN_PROGRESS)


class Topics:
    """The consumer: returns records of a partition, and remembers commits.

    As with librdkafka, a partition that is taken away and given back is still paused.
    """

    def __init__(self, events: Iterable[str]) -> None:
        self._records = [Record(n, event) for n, event in enumerate(events)]
        self._next = self.committed = 0
        self._held, self._paused = {0}, set[int]()
        self.refuses = False

    @property
    def paused(self) -> bool:
        return 0 in self._paused

    def consume(self, most: int, timeout: float) -> list[Record]:
        if self.paused or 0 not in self._held:
            return []
        found = self._records[self._next : self._next + most]
        self._next += len(found)
        return found

    def commit(self, offsets: list[TopicPartition], **_: object) -> list[TopicPartition]:
        if self.refuses:
            return [Refused(each.topic, each.partition, each.offset) for each in offsets]
        (self.committed,) = (each.offset for each in offsets)
        return offsets

    def assignment(self) -> list[TopicPartition]:
        return [partition_of_traces(number) for number in self._held]

    def pause(self, partitions: list[TopicPartition]) -> None:
        self._paused |= {each.partition for each in partitions}

    def resume(self, partitions: list[TopicPartition]) -> None:
        self._paused -= {each.partition for each in partitions}

    def take_away(self, service: TraceService, number: int) -> None:
        """Rebalance: another member gets a partition."""
        service._revoked(cast(Consumer, self), [partition_of_traces(number)])
        self._held.remove(number)

    def give(self, service: TraceService, number: int) -> None:
        service._assigned(cast(Consumer, self), [partition_of_traces(number)])
        self._held.add(number)
        if number == 0:
            self._next = self.committed


def partition_of_traces(number: int) -> TopicPartition:
    return TopicPartition(Topic.TRACES, number)


class Receiver:
    """The exporter: remembers the events of each acknowledged request."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.requests: list[list[str]] = []
        self.tries = 0

    def export(self, spans: Iterable[Span]) -> ExportResult:
        self.tries += 1
        events = [str(span.facts["cloudevents.event_id"]) for span in spans]
        result = self._answer(events)
        if result is ExportResult.ACKNOWLEDGED:
            self.requests.append(events)
        return result

    def events(self) -> list[str]:
        return [event for request in self.requests for event in request]


class Scene:
    """A service, its topics and its receiver; the clock stands still."""

    def __init__(self, events: Iterable[str], answer: Answer, hold_ms: int = 0) -> None:
        self.topics, self.receiver, self.metrics = Topics(events), Receiver(answer), TraceMetrics()
        stopping = threading.Event()
        stopping.set()  # so that a pause has no effect
        self.service = TraceService(
            consumer=cast(Consumer, self.topics),
            exporter=cast(OtlpExporter, self.receiver),
            buffer=SpanBuffer(hold_ms),
            clock=lambda: 0,
            metrics=self.metrics,
            stopping=stopping,
        )

    def dropped(self) -> float:
        return self.metrics.registry.get_sample_value("hifi_trace_dropped_spans_total") or 0


def test_a_trace_that_is_refused_for_good_is_dropped_alone_and_counted() -> None:
    events = [f"e{n}" for n in range(100)]
    scene = Scene(events, lambda some: ExportResult.REFUSED if "e42" in some else ExportResult.ACKNOWLEDGED)
    scene.service.turn()
    assert scene.receiver.events() == [event for event in events if event != "e42"]
    assert scene.receiver.tries < 20
    assert scene.dropped() == 1
    assert scene.topics.committed == 100, "it keeps nothing back"
    assert scene.service.acknowledged


def test_what_is_too_large_together_is_sent_in_parts() -> None:
    events = [f"e{n}" for n in range(100)]
    scene = Scene(events, lambda some: ExportResult.REFUSED if len(some) > 13 else ExportResult.ACKNOWLEDGED)
    scene.service.turn()
    assert scene.receiver.events() == events
    assert scene.dropped() == 0


def test_what_is_not_acknowledged_for_now_is_kept_and_sent_again() -> None:
    answers = iter([ExportResult.REFUSED, ExportResult.UNAVAILABLE, *[ExportResult.ACKNOWLEDGED] * 9])
    scene = Scene(["e0", "e1", "e2"], lambda _: next(answers))
    scene.service.turn()
    assert (scene.receiver.tries, scene.service.acknowledged) == (2, False), "the other half is not tried"
    assert scene.topics.committed == 0
    scene.service.turn()
    assert scene.receiver.events() == ["e0", "e1", "e2"]
    assert scene.topics.committed == 3
    assert scene.dropped() == 0


def test_an_offset_that_the_brokers_refuse_is_committed_at_the_next_turn() -> None:
    scene = Scene(["e0"], lambda _: ExportResult.ACKNOWLEDGED)
    scene.topics.refuses = True
    scene.service.turn()
    assert scene.topics.committed == 0
    scene.topics.refuses = False
    scene.service.turn()
    assert scene.topics.committed == 1
    assert scene.receiver.requests == [["e0"]], "exported once"


def test_more_traces_than_are_held_at_once_do_not_wait_for_the_hold_time() -> None:
    count = MAX_POINTS + 3_000
    scene = Scene((f"e{n}" for n in range(count)), lambda _: ExportResult.ACKNOWLEDGED, hold_ms=15_000)
    for _ in range(count // 1_000):
        scene.service.turn()
    assert len(scene.receiver.events()) >= 3_000
    assert scene.receiver.events()[:3] == ["e0", "e1", "e2"]
    assert max(map(len, scene.receiver.requests)) <= BATCH_POINTS
    assert not scene.topics.paused


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Trace points that fill the buffer, which has a tenth of its usual size."""
    monkeypatch.setattr("pipelines.control.trace.span_buffer.MAX_POINTS", BATCH_POINTS)
    return BATCH_POINTS


@pytest.mark.parametrize("points", [BATCH_POINTS, pytest.param(MAX_POINTS, marks=pytest.mark.proof)])
def test_reading_pauses_while_the_buffer_is_full_and_the_receiver_takes_nothing(
    points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.control.trace.span_buffer.MAX_POINTS", points)
    scene = Scene((f"e{n}" for n in range(points)), lambda _: ExportResult.UNAVAILABLE)
    for _ in range(points // 1_000):
        scene.service.turn()
    assert scene.topics.paused


def test_a_partition_that_was_paused_is_read_when_it_is_given_back(small: int) -> None:
    events, answers = [f"e{n}" for n in range(small + 1_000)], [ExportResult.UNAVAILABLE]
    scene = Scene(events, lambda _: answers[0])
    for _ in range(small // 1_000):
        scene.service.turn()
    assert scene.topics.paused
    scene.topics.take_away(scene.service, 0)
    scene.topics.give(scene.service, 0)
    answers[0] = ExportResult.ACKNOWLEDGED
    for _ in range(5):
        scene.service.turn()
    assert scene.receiver.events() == events


def test_a_partition_that_comes_does_not_keep_a_paused_one_from_being_read_again(small: int) -> None:
    events, answers = [f"e{n}" for n in range(small + 1_000)], [ExportResult.UNAVAILABLE]
    scene = Scene(events, lambda _: answers[0])
    for _ in range(small // 1_000):
        scene.service.turn()
    assert scene.topics.paused
    scene.topics.give(scene.service, 1)
    answers[0] = ExportResult.ACKNOWLEDGED
    for _ in range(5):
        scene.service.turn()
    assert scene.receiver.events() == events
