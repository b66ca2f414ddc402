"""Notices that a topic was deleted and made again, which no consumer reports: its id is another one."""

import time
from concurrent.futures import Future
from functools import cached_property
from typing import Final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._topic import TopicDescription  # where mypy sees it

from shared.contracts.topics import Topic
from shared.runtime.kafka_config import client_config
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_LOOK_SECONDS: Final = 5.0
_REFRESH_MS: Final = 30_000
"""librdkafka sends the request to one broker only. If that one is gone, it finds out so much later."""


class RecreationWatch:
    """Belongs to one thread, which it never keeps waiting. `id_now` may be called from any other."""

    def __init__(self, bootstrap: str, client_id: str, topic: Topic) -> None:
        self._config = client_config(bootstrap) | {
            "client.id": client_id,
            "topic.metadata.refresh.interval.ms": _REFRESH_MS,
        }
        self._topic = str(topic)
        self.id = ""
        """The topic's id in the last answer; empty before the first one."""

        self._asked: Future[TopicDescription] | None = None
        self._next = 0.0

    def made_again(self) -> bool:
        """Whether the topic is another one than at the answer before. Asks every few seconds."""
        self._client.poll(0)  # librdkafka's log lines are handled in poll
        if self._asked is None:
            if time.monotonic() >= self._next:
                self._asked = self._ask(_LOOK_SECONDS)
            return False
        if not self._asked.done():
            return False
        known, self.id = self.id, _answer(self._asked, 0) or self.id
        self._asked, self._next = None, time.monotonic() + _LOOK_SECONDS
        return known not in ("", self.id)

    def id_now(self, seconds: float) -> str:
        """The topic's id; empty if there is no such topic, or no answer in time."""
        return _answer(self._ask(seconds), seconds)

    @cached_property
    def _client(self) -> AdminClient:
        """Made on the thread: that fails without a token, and is tried again."""
        return AdminClient(self._config, logger=_log)

    def _ask(self, seconds: float) -> "Future[TopicDescription]":
        topics = TopicCollection([self._topic])
        return self._client.describe_topics(topics, request_timeout=seconds)[self._topic]


def _answer(asked: "Future[TopicDescription]", seconds: float) -> str:
    try:
        return str(asked.result(seconds).topic_id)
    except (KafkaException, TimeoutError):
        return ""
