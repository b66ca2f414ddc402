"""Records that expire during audit's absence are noticed; events that they may explain are not lost."""

import pytest
from confluent_kafka import TopicPartition

from pipelines.control.observe.health.offsets import Progress
from shared.contracts.envelope import DAY_MS
from shared.contracts.topics import Topic
from tests.conftest import delete_up_to
from tests.contract.observe.following import Following, GivenReader
from tests.contract.observe.meter import FIRST, NEVER, written
from tests.harness.topics import Topics

MINUTES = 20
COUNTED = 15
"""Minutes with receipts that audit counted before it stopped."""


def test_partitions_that_begin_behind_what_was_counted_of_them_are_found(topics: str) -> None:
    brokers = Topics(topics)
    for number in range(40):
        brokers.put(Topic.RECEIPTS, b"{}", [], str(number).encode())
    brokers.flush()
    held = brokers.retained(Topic.RECEIPTS)
    assert all(found.end - found.first > 1 for found in held.values())
    counted = {(Topic.RECEIPTS.value, at): found.first + 1 for at, found in held.items()}
    middle = {(Topic.RECEIPTS.value, at): found.first + 2 for at, found in held.items()}
    with Progress(topics, "test") as progress:
        assert progress.look(counted, 1).expired == {}
        delete_up_to(topics, [TopicPartition(*place, at) for place, at in middle.items()])
        assert progress.look(counted, 1).expired == middle
        assert progress.look(middle, 1).expired == {}
        assert progress.look({}, 1).expired == {}, "nothing was counted of them before"


@pytest.mark.parametrize("days", [4, 2])
def test_deliveries_with_expired_receipts_are_not_lost(store_url: str, days: int) -> None:
    """Younger records cannot have expired: without a receipt their events are lost."""
    reader = GivenReader(4 * MINUTES)
    following = Following(store_url, reader, MINUTES, most_new=NEVER)
    assert following.follower.turn()
    following.now_ms += days * DAY_MS
    following.offsets.begins = {(Topic.RECEIPTS.value, 0): MINUTES}
    reader.write(
        [each for each in written(MINUTES) if each.topic is not Topic.RECEIPTS or each.end <= COUNTED]
    )
    following.follower.turn()
    following.finish()
    lost = 0 if days > 3 else 5
    cards = following.stored("acme")
    assert [card.lost for card in cards] == [0] * COUNTED + [lost] * (MINUTES - COUNTED)
    assert all(card.settled and not card.doubled for card in cards)
    explained = [card.minute for card in cards if "expired" in " ".join(card.why)]
    assert explained == ([] if lost else [*range(FIRST + COUNTED, FIRST + MINUTES)])
    assert following.loop.snapshot.open_minutes == 0
