"""What a side has still to settle, by real brokers."""

from contextlib import suppress

from confluent_kafka import KafkaException

from pipelines.control.backends.remains import RemainsReader
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import partition_ends
from shared.kafka.group_positions import commit_positions
from shared.kafka.progress_group import group_name
from tests.harness.topics import Topics


def test_events_wait_for_their_next_try_before_the_first_of_them_is_due(topics: str) -> None:
    """The group of retry commits nothing until it has moved a record."""
    admin, group = admin_client(topics), group_name("retry")
    with suppress(KafkaException):  # no test of this cluster has committed for it
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
