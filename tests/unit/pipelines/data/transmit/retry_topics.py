"""The retry topics from transmit's point of view, without Kafka."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from pipelines.data.retry.decide import DelayedRecord, OutputRecord
from pipelines.data.retry.delay_queue import DelayQueue
from pipelines.data.transmit.delivery.decide import RetryLater
from pipelines.data.transmit.events import Event
from shared.contracts.topics import RETRY_DELAYS, Topic

_SPREAD: Final = 0.5


@dataclass(kw_only=True)
class RetryTopics:
    """The retry topics; each record stands for one event."""

    queues: dict[Topic, DelayQueue] = field(
        default_factory=lambda: {topic: DelayQueue(topic, _SPREAD) for topic in RETRY_DELAYS}
    )
    held: dict[Topic, deque[tuple[int, Event]]] = field(
        default_factory=lambda: {topic: deque() for topic in RETRY_DELAYS}
    )
    added: int = 0
    """Records so far."""

    def add(self, outcome: RetryLater, events: list[Event]) -> None:
        self.added += len(events)
        for one in events:
            due = DelayedRecord(0, outcome.not_before_ms, OutputRecord(outcome.topic, None, None, []), 1)
            self.queues[outcome.topic].add(due)
            one.attempt = outcome.attempts + 1
            self.held[outcome.topic].append((outcome.not_before_ms, one))

    def leave(self, now_ms: int) -> list[Event]:
        """The events that retry writes in one of its intervals."""
        left: list[Event] = []
        for topic, queue in self.queues.items():
            due = len(queue.due(now_ms, len(queue)))
            queue.remove_first(due)
            left += [self.held[topic].popleft()[1] for _ in range(due)]
        return left
