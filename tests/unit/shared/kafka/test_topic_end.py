"""A long-lived client reads the end of a topic. It is simulated here."""

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from shared.contracts.topics import Topic
from shared.kafka import topic_end
from shared.kafka.topic_end import TopicEnd


class Client:
    """A consumer that counts how often its log lines are handled, which happens in poll."""

    def __init__(self, _config: Mapping[str, Any], **_: object) -> None:
        self.polled = 0

    def poll(self, timeout: float) -> None:
        assert timeout == 0, "it must not wait"
        self.polled += 1

    def get_watermark_offsets(self, _at: TopicPartition, timeout: float) -> tuple[int, int]:
        return 0, 7


def test_log_lines_of_the_client_are_handled_each_time_the_end_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients: list[Client] = []

    def made(config: Mapping[str, Any], **named: object) -> Client:
        clients.append(Client(config, **named))
        return clients[-1]

    monkeypatch.setattr(topic_end, "Consumer", made)
    end = TopicEnd("127.0.0.1:1", "test", Topic.CONFIG)
    assert [end.offset(1) for _ in range(3)] == [7, 7, 7]
    assert clients[0].polled == 3
