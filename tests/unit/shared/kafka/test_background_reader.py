"""A background reader runs until it is stopped, whatever its consumers do. There is no broker here."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, KafkaException

from shared.kafka import background_reader
from shared.kafka.background_reader import BackgroundReader, reader_config

SECONDS: Final = 30


class Reader(BackgroundReader):
    """Records its calls; its first turns end as the test says."""

    def __init__(self, *, refusals: int = 0, failures: int = 0, ends: int = 0) -> None:
        super().__init__(name="test", config=reader_config("127.0.0.1:1", "test"))
        self.assigned: list[Consumer] = []
        self.turned: list[Consumer] = []
        self.steady = threading.Event()
        self._refusals, self._failures, self._ends = refusals, failures, ends

    def _assign(self, consumer: Consumer) -> bool:
        self.assigned.append(consumer)
        self._refusals -= 1
        return self._refusals < 0

    def _turn(self, consumer: Consumer) -> bool:
        self.turned.append(consumer)
        if len(self.turned) <= self._failures:
            raise ValueError("a failure")
        if len(self.turned) <= self._ends:
            return False
        self.steady.set()
        return not self._stopping.wait(0.01)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_reader, "POLL_SECONDS", 0.01)


@contextmanager
def running(reader: Reader) -> Iterator[Reader]:
    reader.start()
    try:
        assert reader.steady.wait(SECONDS)
        yield reader
    finally:
        reader.stop()


def test_a_failure_is_survived_with_a_new_consumer_that_takes_up_its_partitions() -> None:
    with running(Reader(failures=2)) as reader:
        first, second, third = reader.turned[:3]
    assert len({id(each) for each in (first, second, third)}) == 3
    assert reader.assigned == [first, second, third]


def test_a_consumer_that_cannot_be_made_for_lack_of_a_token_is_made_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusals = iter([KafkaException("OAuth token not set within 10 seconds")] * 2)

    def consumer(*arguments: Any, **named: Any) -> Consumer:
        for refusal in refusals:
            raise refusal
        return Consumer(*arguments, **named)

    monkeypatch.setattr(background_reader, "Consumer", consumer)
    with running(Reader()) as reader:
        assert reader.turned


def test_a_reader_can_ask_for_a_new_consumer() -> None:
    with running(Reader(ends=1)) as reader:
        first, second = reader.turned[:2]
    assert first is not second
    assert reader.assigned == [first, second]


def test_nothing_is_read_before_partitions_are_known() -> None:
    with running(Reader(refusals=2)) as reader:
        assert len(reader.assigned) == 3
    assert {id(each) for each in reader.assigned} == {id(each) for each in reader.turned}


def test_stop_ends_it_also_while_no_partitions_are_known() -> None:
    reader = Reader(refusals=10**6).start()
    reader.stop()
    assert reader.turned == []
    assert not reader.loaded
    assert not reader.wait(0)
