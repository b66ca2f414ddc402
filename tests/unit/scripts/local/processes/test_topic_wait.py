"""A driver waits for its topics, and reports the missing ones."""

import logging
from collections.abc import Sequence

import pytest
from confluent_kafka import KafkaError, KafkaException

from scripts.local.processes.topic_wait import wait_for_topics
from tests.harness.waiting import NoPauses

_AWAY = KafkaException(KafkaError(KafkaError._TRANSPORT, "no one answers"))


class Brokers:
    """Brokers with one answer per look, some seconds apart; the last answer stops the driver."""

    def __init__(self, seconds: float, *answers: Sequence[str] | KafkaException) -> None:
        self.stopping, self._seconds, self._answers = NoPauses(), seconds, list(answers)
        self.now = 0.0

    def missing(self) -> Sequence[str]:
        answer = self._answers.pop(0)
        self.now += self._seconds
        if not self._answers:
            self.stopping.set()
        if isinstance(answer, KafkaException):
            raise answer
        return answer

    def wait(self) -> None:
        wait_for_topics(self.missing, self.stopping, lambda: self.now)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def test_topics_that_are_missing_for_long_are_named_again_each_minute(said: pytest.LogCaptureFixture) -> None:
    Brokers(10, *[["scores", "ranks"]] * 8, ["ranks"]).wait()
    found = [vars(each)["missing"] for each in said.records]
    assert found == ["scores, ranks", "scores, ranks"]


def test_topics_that_come_with_the_brokers_are_not_worth_a_line(said: pytest.LogCaptureFixture) -> None:
    Brokers(2, _AWAY, ["scores"], ["scores"], []).wait()
    assert said.records == []


def test_brokers_that_do_not_answer_for_long_are_named(said: pytest.LogCaptureFixture) -> None:
    Brokers(10, _AWAY).wait()
    (found,) = said.records
    assert vars(found)["error"] == "no broker answers: no one answers"


def test_the_driver_goes_on_once_all_topics_are_there(said: pytest.LogCaptureFixture) -> None:
    brokers = Brokers(0, ["scores"], [], ["asked once more"])
    brokers.wait()
    assert not brokers.stopping.is_set()
