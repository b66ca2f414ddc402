"""Ends of topics while the brokers move leaders."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from shared.contracts.topics import Topic
from shared.kafka.consumer_lag import topic_ends


class Moving:
    """An admin client of brokers with one topic of one partition, whose answers are given."""

    def __init__(self, *errors: int) -> None:
        self._errors = list(errors)

    def list_topics(self, timeout: float) -> Any:
        assert timeout
        return SimpleNamespace(topics={Topic.EVENTS: SimpleNamespace(partitions={0: None})})

    def list_offsets(self, asked: dict[Any, Any], request_timeout: float) -> Any:
        assert request_timeout
        answer: Future[Any] = Future()
        if self._errors:
            answer.set_exception(KafkaException(KafkaError(self._errors.pop(0))))
        else:
            answer.set_result(SimpleNamespace(offset=7))
        return dict.fromkeys(asked, answer)


def test_a_leader_that_is_moving_is_waited_for() -> None:
    moving: Any = Moving(KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.NOT_LEADER_FOR_PARTITION)
    assert topic_ends(moving)[Topic.EVENTS] == 7


def test_any_other_error_is_raised_at_once() -> None:
    refusing: Any = Moving(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException, match="authorization"):
        topic_ends(refusing)
