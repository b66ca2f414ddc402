"""One member of retry's group, turn by turn; brokers may refuse a topic."""

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, Consumer, KafkaError, Message, Producer, TopicPartition

from pipelines.data.retry import writer as writer_module
from pipelines.data.retry.metrics import RetryMetrics
from pipelines.data.retry.service import RetryService
from pipelines.data.retry.writer import RecordWriter
from shared.contracts import headers as h
from shared.contracts.topics import Topic
from tests.harness.waiting import NoPauses

NOW: Final = 1_800_000_000_000
Headers = list[tuple[str, str | bytes | None]]

GOOD: Final[Headers] = [(h.NOT_BEFORE, str(NOW - 1).encode()), (h.ATTEMPT, b"1")]
RUBBISH: Final[Headers] = [(h.NOT_BEFORE, b"soon")]
OVERSIZED: Final = b"oversized"


class Brokers:
    """Simulates both clients. Each poll is a turn, as the test says; the last one stops the service."""

    def __init__(self, *turns: Callable[["Brokers"], None]) -> None:
        self.turns = iter(turns)
        self.stopping = NoPauses()
        self.refused: set[Topic] = set()
        self.written: list[tuple[str, bytes | None]] = []
        """Topic and key."""

        self.commits: dict[str, int] = {}
        self._records: list[Message] = []
        self._reports: list[Callable[[], None]] = []

    def put(self, topic: Topic, *records: tuple[bytes, Headers]) -> None:
        """Records to read, by key."""
        for key, headers in records:
            at = (TIMESTAMP_CREATE_TIME, NOW)
            offset = sum(each.topic() == topic for each in self._records)
            self._records.append(
                Message(topic, 0, offset, key=key, headers=headers, timestamp=at)  # in the brokers' form
            )

    def assign(self, *topics: Topic) -> None:
        self._on_assign(cast(Consumer, self), [TopicPartition(topic, 0) for topic in topics])

    def lose(self, *topics: Topic) -> None:
        self._on_lost(cast(Consumer, self), [TopicPartition(topic, 0) for topic in topics])

    # The consumer's methods.

    def subscribe(self, _topics: list[str], on_assign: Any, on_revoke: Any, on_lost: Any) -> None:
        self._on_assign, self._on_lost = on_assign, on_lost

    def poll(self, _seconds: float) -> Message | None:
        turn = next(self.turns, None)
        if turn is None:
            self.stopping.set()
            return None
        turn(self)
        return self._records[0] if self._records else None

    def consume(self, _most: int, timeout: float) -> list[Message]:
        found, self._records = self._records[1:], []
        return found

    def commit(self, offsets: Iterable[TopicPartition], asynchronous: bool) -> list[TopicPartition]:
        self.commits |= {at.topic: at.offset for at in offsets}
        return []

    def committed(self, asked: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        return asked  # nothing yet

    def get_watermark_offsets(self, _at: TopicPartition, cached: bool) -> None:
        return None

    def close(self) -> None:
        """Do nothing."""

    # The producer's methods.

    def produce(
        self, topic: Topic, _value: bytes | None, key: bytes, headers: object, on_delivery: Any
    ) -> None:
        if topic in self.refused or key == OVERSIZED:
            self._reports.append(lambda: on_delivery(KafkaError(KafkaError._MSG_TIMED_OUT), None))
        else:
            self.written.append((topic, key))

    def flush(self, _seconds: float) -> int:
        reports, self._reports = self._reports, []
        for report in reports:
            report()
        return 0


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Brokers], RecordWriter]:
    """Run a service to the end of the brokers' turns."""

    def running(brokers: Brokers) -> RecordWriter:
        monkeypatch.setattr(writer_module, "logging_client", lambda _config: cast(Producer, brokers))
        writer = RecordWriter("127.0.0.1:1", "test", brokers.stopping, 1.0)
        service = RetryService(
            consumer=cast(Consumer, brokers),
            writer=writer,
            clock=lambda: NOW,
            spread=0.0,
            metrics=RetryMetrics(),
            stopping=brokers.stopping,
        )
        service.run()
        return writer

    return running


def rest(_brokers: Brokers) -> None:
    """Run a turn without anything new."""


def keys(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def test_what_cannot_be_written_keeps_no_other_partition_from_being_committed(
    run: Callable[[Brokers], RecordWriter],
) -> None:
    def begin(brokers: Brokers) -> None:
        brokers.refused = {Topic.QUARANTINE}
        brokers.assign(Topic.RETRY_IN_5M, Topic.RETRY_IN_30S)
        brokers.put(Topic.RETRY_IN_5M, (b"rubbish", RUBBISH))
        brokers.put(Topic.RETRY_IN_30S, *((key, GOOD) for key in keys(10)))

    brokers = Brokers(begin, rest)
    assert run(brokers).unacknowledged_seconds > 0, "one record is owed"
    assert brokers.written == [(Topic.RETRY_OUT, key) for key in keys(10)], "each once"
    assert brokers.commits == {Topic.RETRY_IN_30S: 10}


@pytest.mark.parametrize("key", [b"rubbish", OVERSIZED])
def test_records_behind_one_that_cannot_be_written_are_not_written_again_and_again(
    key: bytes, run: Callable[[Brokers], RecordWriter]
) -> None:
    def begin(brokers: Brokers) -> None:
        brokers.refused = {Topic.QUARANTINE}
        brokers.assign(Topic.RETRY_IN_5M)
        before, after = ([(each, GOOD) for each in keys(5)], [(each, GOOD) for each in keys(10)[5:]])
        brokers.put(Topic.RETRY_IN_5M, *before, (key, GOOD if key == OVERSIZED else RUBBISH), *after)

    brokers = Brokers(begin, rest, rest, rest)
    run(brokers)
    written = [each for _, each in brokers.written]
    assert written[:5] == keys(5), "what stands before it is written"
    assert len(written) == len(set(written)), "each once"
    assert brokers.commits == {Topic.RETRY_IN_5M: 5}


def test_all_leave_in_order_once_the_topic_takes_records_again(
    run: Callable[[Brokers], RecordWriter],
) -> None:
    def begin(brokers: Brokers) -> None:
        brokers.refused = {Topic.QUARANTINE}
        brokers.assign(Topic.RETRY_IN_5M)
        brokers.put(Topic.RETRY_IN_5M, (b"0", GOOD), (b"rubbish", RUBBISH), (b"1", GOOD))

    def end(brokers: Brokers) -> None:
        brokers.refused = set()

    brokers = Brokers(begin, rest, end, rest, rest)
    assert run(brokers).unacknowledged_seconds == 0
    topics = [Topic.RETRY_OUT, Topic.QUARANTINE, Topic.RETRY_OUT]
    assert brokers.written == list(zip(topics, (b"0", b"rubbish", b"1"), strict=True))
    assert brokers.commits == {Topic.RETRY_IN_5M: 3}


def test_a_member_that_lost_what_it_could_not_write_owes_no_write(
    run: Callable[[Brokers], RecordWriter],
) -> None:
    def begin(brokers: Brokers) -> None:
        brokers.refused = {Topic.RETRY_OUT}
        brokers.assign(Topic.RETRY_IN_5M)
        brokers.put(Topic.RETRY_IN_5M, (b"0", GOOD))

    assert run(Brokers(begin)).unacknowledged_seconds > 0
    assert run(Brokers(begin, lambda brokers: brokers.lose(Topic.RETRY_IN_5M))).unacknowledged_seconds == 0
