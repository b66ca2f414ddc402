"""The events that a side has not settled yet, counted on real brokers."""

from contextlib import suppress

from confluent_kafka import KafkaException, TopicPartition

from pipelines.control.backends.letter_counter import letter_counter
from pipelines.control.backends.remains import RemainsReader
from shared.contracts import headers as h
from shared.contracts.replays import LetterKey, encode_replay
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import partition_ends
from shared.kafka.group_positions import commit_positions
from shared.kafka.progress_group import group_name
from tests.conftest import delete_up_to
from tests.harness.topics import Topics


def test_events_wait_for_their_next_try_before_the_first_of_them_is_due(topics: str) -> None:
    """retry's group commits nothing until it has moved a record."""
    admin, group = admin_client(topics), group_name("retry")
    with suppress(KafkaException):  # no test of this cluster has committed for this group
        admin.delete_consumer_groups([group])[group].result(60)  # a new cluster makes its groups' topic first
    written, reader = Topics(topics), RemainsReader(topics)
    before = reader.read().retries
    for number in range(3):
        written.put(Topic.RETRY_IN_5M, b"{}", [], b"%d" % number)
    written.flush()
    found = reader.read()
    assert (found.retries, found.lag["retry"]) == (before + 3, before + 3)
    waiting = {place: end for place, end in partition_ends(admin).items() if place[0] in RETRY_DELAYS}
    commit_positions(
        admin, group, {f"{topic}/{partition}": end for (topic, partition), end in waiting.items()}
    )
    assert reader.read().retries == 0


def test_dead_letters_are_counted_as_they_come_and_without_those_that_were_replayed(topics: str) -> None:
    written, counter = Topics(topics), letter_counter(topics)
    assert counter.count() == {}
    for number, reason in enumerate(("refused: 410", "refused: 404", "expired: after a day")):
        written.put(Topic.DEAD_LETTER, b"{}", [(h.REASON, reason)], b"%d" % number)
    written.flush()
    assert counter.count() == {"refused": 2, "expired": 1}
    written.put(Topic.DEAD_LETTER, b"{}", [(h.REASON, "refused: 403")], b"3")
    written.flush()
    assert counter.count() == {"refused": 3, "expired": 1}
    first = written.all_of(Topic.DEAD_LETTER)[0]
    key = LetterKey(first.partition() or 0, first.offset() or 0, first.timestamp()[1])
    written.put(Topic.REPLAYED, encode_replay(key.written_ms, [key]), [], None)
    written.flush()
    assert counter.count() == {"refused": 2, "expired": 1}


def test_events_that_were_deleted_while_a_side_stood_still_do_not_keep_it(topics: str) -> None:
    written, reader, group = Topics(topics), RemainsReader(topics), group_name("retry")
    for number in range(3):
        written.put(Topic.RETRY_IN_1H, b"{}", [], b"%d" % number)
    written.flush()
    end = partition_ends(admin_client(topics))[Topic.RETRY_IN_1H, 0]
    commit_positions(admin_client(topics), group, {f"{Topic.RETRY_IN_1H}/0": end - 3})
    before = reader.read().retries
    delete_up_to(topics, [TopicPartition(Topic.RETRY_IN_1H, 0, end - 1)])
    assert reader.read().retries == before - 2
    delete_up_to(topics, [TopicPartition(Topic.RETRY_IN_1H, 0, end)])
    assert reader.read().retries == before - 3
