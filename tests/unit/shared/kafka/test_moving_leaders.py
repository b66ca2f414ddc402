"""Brokers are asked again while a leader moves, and not for anything else."""

import time
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from shared.kafka.moving_leaders import LEADER_MOVES, asked_again


def _failing(code: int, times: int) -> Callable[[], int]:
    """Fails so many times, then answers how often it was asked."""
    asked = 0

    def ask() -> int:
        nonlocal asked
        asked += 1
        if asked <= times:
            raise KafkaException(KafkaError(code))
        return asked

    return ask


@pytest.mark.parametrize("code", [*sorted(LEADER_MOVES), KafkaError.OFFSET_NOT_AVAILABLE])
def test_the_brokers_are_asked_until_a_leader_knows(code: int) -> None:
    assert asked_again(_failing(code, 2), time.monotonic() + 60) == 3


def test_it_ends_in_time_if_no_leader_knows() -> None:
    began = time.monotonic()
    with pytest.raises(KafkaException):
        asked_again(_failing(KafkaError.OFFSET_NOT_AVAILABLE, 1_000), began + 0.3)
    assert time.monotonic() - began < 10


def test_another_error_is_raised_at_once() -> None:
    with pytest.raises(KafkaException):
        asked_again(_failing(KafkaError.TOPIC_AUTHORIZATION_FAILED, 1), time.monotonic() + 60)
