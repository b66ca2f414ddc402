"""observe reports how late the retry topics are, whether retry reads them or not."""

import re

from confluent_kafka import Producer

from shared.contracts import headers as h
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.kafka.producer import producer_config
from shared.runtime.clock import wall_clock
from shared.runtime.metrics import ObserveMetric
from tests.contract.observe.conftest import Start
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually

LATE_SECONDS = 1_000


def _overdue(observe: ObserveProcess) -> dict[str, float]:
    """Seconds by topic."""
    found = re.findall(rf'{ObserveMetric.OVERDUE}{{topic="(.+)"}} (.+)', observe.get("/metrics"))
    return {topic: float(seconds) for topic, seconds in found}


def test_a_waiting_topic_that_is_not_read_is_late_and_one_that_is_not_due_is_not(
    topics: str, start: Start
) -> None:
    producer, now_ms = Producer(producer_config(topics, "test")), wall_clock()

    def wait(topic: Topic, due_ms: int) -> None:
        producer.produce(topic, b"{}", headers=[(h.NOT_BEFORE, str(due_ms).encode())])

    wait(Topic.RETRY_IN_5M, now_ms - 1_000 * LATE_SECONDS)
    wait(Topic.RETRY_IN_5M, now_ms)
    wait(Topic.RETRY_IN_1H, now_ms + 3_600_000)
    assert producer.flush(120) == 0
    observe = start()

    def overdue() -> dict[str, float]:
        return _overdue(observe)

    found = eventually(
        lambda: (now := overdue()).get(Topic.RETRY_IN_5M) and now.keys() >= RETRY_DELAYS.keys() and now
    )
    late = found[Topic.RETRY_IN_5M]
    assert LATE_SECONDS <= late <= LATE_SECONDS + (wall_clock() - now_ms) / 1_000 + 1
    assert (found[Topic.RETRY_IN_30S], found[Topic.RETRY_IN_1H]) == (0, 0)
    eventually(lambda: overdue()[Topic.RETRY_IN_5M] > late, 60, "it grows while no one reads it")


def test_a_record_is_late_once_its_topics_delay_is_over_whatever_its_header_says(
    topics: str, start: Start
) -> None:
    producer, now_ms = Producer(producer_config(topics, "test")), wall_clock()
    written_ms = now_ms - 1_000 * LATE_SECONDS
    in_a_day, digits = str(now_ms + 86_400_000), "9" * 5_000
    for topic, not_before in ((Topic.RETRY_IN_30S, in_a_day), (Topic.RETRY_IN_5M, digits)):
        headers: list[tuple[str, str | bytes | None]] = [(h.NOT_BEFORE, not_before.encode())]
        producer.produce(topic, b"{}", headers=headers, timestamp=written_ms)
    assert producer.flush(120) == 0
    observe = start()
    for topic, delay_seconds in ((Topic.RETRY_IN_30S, 30), (Topic.RETRY_IN_5M, 300)):
        late = eventually(lambda topic=topic: _overdue(observe).get(topic))  # type: ignore[misc]
        assert LATE_SECONDS - delay_seconds <= late
        assert late <= LATE_SECONDS + (wall_clock() - now_ms) / 1_000 + 1
