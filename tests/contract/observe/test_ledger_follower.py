"""Memory stays bounded for a ledger of any length, whether observe or audit catches up."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from pipelines.control.observe.ledger.reader import LedgerReader
from shared.contracts.ledger import Range, encode_range
from shared.contracts.topics import Topic
from tests.contract.observe.following import Following, GivenReader
from tests.contract.observe.meter import FIRST, NEVER, STAGES, written
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

KEPT = 60
"""Minutes that stay in memory."""

MOST_NEW = 120
"""States that may be added before they are stored."""

MINUTES = 600
"""Ten hours, of two tenants."""

LONG = 30
"""Minutes in a record that audit wrote while it caught up."""

AHEAD_BYTES = 128 * 1024
BATCH = 24
"""Records of a batch: six minutes."""

CAUGHT_UP = [360, pytest.param(MINUTES, marks=pytest.mark.proof)]
"""Minutes that audit counts at the end: at least three times as many states as may be in memory."""

LOST = 100
"""A minute in which transmit lost everything."""

FEW = 160
"""Minutes that have more states than may be in memory without the store."""


def long_records(found: Sequence[Range]) -> list[Range]:
    """The same ledger, with LONG minutes in each record."""
    by_topic = ([each for each in found if each.topic is topic] for topic in STAGES)
    parts = [each[at : at + LONG] for each in by_topic for at in range(0, len(each), LONG)]
    return [_joined(part) for part in sorted(parts, key=lambda part: part[0].start)]


def _joined(part: Sequence[Range]) -> Range:
    tallies = [tally for each in part for tally in each.tallies]
    return replace(part[0], end=part[-1].end, newest_ms=part[-1].newest_ms, tallies=tallies)


@pytest.fixture
def long_ledger(topics: str) -> int:
    """Write the ledger of long records; returns the bytes of its values."""
    brokers = Topics(topics)
    values = [(each.key, encode_range(each)) for each in long_records(written(MINUTES))]
    for key, value in values:
        brokers.put(Topic.LEDGER, value, [], key)
    brokers.flush()
    return sum(len(value) for _, value in values)


def test_a_ledger_of_records_of_many_minutes_is_read_in_bounded_memory(
    topics: str, store_url: str, long_ledger: int
) -> None:
    (start,) = Topics(topics).retained(Topic.LEDGER).values()
    reader = LedgerReader(topics, "test", start.first, ahead_bytes=AHEAD_BYTES).start()
    following = Following(store_url, reader, MINUTES, most_new=MOST_NEW)
    batch = 2 * (MINUTES * AHEAD_BYTES // long_ledger + LONG)
    assert 2 * KEPT + MOST_NEW + batch < MINUTES
    try:
        eventually(lambda: reader.held_bytes > AHEAD_BYTES // 2)
        most, looked = 0, False
        while not looked:
            looked = following.follower.turn()
            assert reader.held_bytes <= AHEAD_BYTES
            most = max(most, following.held)
    finally:
        reader.stop()
    assert most <= 2 * (KEPT + LONG) + MOST_NEW + batch
    following.finish()
    assert [(card.delivered, card.lost) for card in following.stored("acme")] == [(5, 0)] * MINUTES


def live(url: str, minutes: int) -> tuple[Following, GivenReader]:
    """A process that has read the ledger, during audit's absence."""
    reader = GivenReader(BATCH)
    following = Following(url, reader, minutes, most_new=MOST_NEW)
    assert following.follower.turn(), "the end of the ledger is reached"
    return following, reader


@pytest.mark.parametrize("minutes", CAUGHT_UP)
def test_minutes_leave_memory_while_audit_catches_up_and_are_judged_rightly_once_it_has(
    store_url: str, minutes: int
) -> None:
    following, reader = live(store_url, minutes)
    whole = written(minutes)
    for each in whole:
        if each.topic is Topic.RECEIPTS and each.start == LOST:
            each.tallies = []
    reader.write(whole[:-1])
    while reader.left:
        following.follower.turn()
        assert following.held <= 2 * (KEPT + 2) + MOST_NEW + BATCH
        assert all(card.lost == card.doubled == 0 for card in following.shown())
    assert following.loop.snapshot.open_minutes < 2 * (KEPT + 2) + MOST_NEW
    assert len(following.stored("acme")) > minutes - KEPT - MOST_NEW
    assert {("acme", FIRST + LOST), ("zoo", FIRST + LOST)} <= following.meter.board.ledger.minutes.keys()
    reader.write(whole[-1:])
    following.follower.turn()
    following.finish()
    expected = [(0, 5) if at == LOST else (5, 0) for at in range(minutes)]
    for tenant in ("acme", "zoo"):
        assert [(card.delivered, card.lost) for card in following.stored(tenant)] == expected
    assert all(card.settled and not card.doubled for card in following.stored("acme"))


def test_reading_pauses_while_the_store_is_away_and_memory_is_full(store_url: str) -> None:
    following, reader = live(store_url, FEW)
    following.meter.store.writes = 0
    reader.write(written(FEW))
    while following.held < MOST_NEW:
        following.follower.turn()
    left = len(reader.left)
    assert [following.follower.turn() for _ in range(2)] == [True] * 2, "it looks all the same"
    assert (following.held < MOST_NEW + BATCH, len(reader.left)) == (True, left)
    following.meter.store.writes = NEVER
    while reader.left:
        following.follower.turn()
        assert following.held <= 2 * (KEPT + 2) + MOST_NEW + BATCH
    following.finish()
    for tenant in ("acme", "zoo"):
        assert [(card.delivered, card.lost) for card in following.stored(tenant)] == [(5, 0)] * FEW
