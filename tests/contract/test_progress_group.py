"""A query's progress, committed to its consumer group on real brokers."""

import pytest
from confluent_kafka import TopicPartition

from shared.contracts.topics import Topic
from shared.kafka.progress_group import ProgressGroup
from tests.harness.topics import Topics


def offsets(found: list[TopicPartition]) -> dict[tuple[str, int], int]:
    return {(at.topic, at.partition): at.offset for at in found}


def test_the_next_process_sees_what_was_committed_and_what_waits(topics: str) -> None:
    side = Topics(topics)
    for value in (b"a", b"b", b"c"):
        side.put(Topic.LEDGER, value, [], None)
    side.flush()
    before, after = ProgressGroup(topics, "test-progress"), ProgressGroup(topics, "test-progress")
    assert after.committed([Topic.LEDGER]) == []
    end = offsets(before.ends([TopicPartition(Topic.LEDGER, 0)]))[Topic.LEDGER, 0]
    before.show([TopicPartition(Topic.LEDGER, 0, end - 2)])
    committed = after.committed([Topic.LEDGER])
    assert offsets(committed) == {(Topic.LEDGER, 0): end - 2}
    assert offsets(after.ends(committed)) == {(Topic.LEDGER, 0): end}


def test_without_brokers_nothing_is_known() -> None:
    assert ProgressGroup("127.0.0.1:9", "test-progress").committed([Topic.LEDGER]) == []


def test_log_lines_of_the_client_are_written_before_a_query_makes_progress(
    caplog: pytest.LogCaptureFixture,
) -> None:
    group = ProgressGroup("127.0.0.1:9", "test-progress")
    for _ in range(2):
        assert group.committed([Topic.LEDGER]) == []
    assert "Connect to ipv4#127.0.0.1:9 failed" in caplog.text
