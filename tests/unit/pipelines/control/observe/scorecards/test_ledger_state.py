"""The ledger counts each range once, in any order and split, and across restarts."""

import random
from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.observe.ledger.minute_sums import MinuteState
from pipelines.control.observe.scorecards.ledger_state import LedgerPosition, LedgerState
from pipelines.control.observe.scorecards.minute_cards import minute_card
from shared.contracts.ledger import Range, Stage, Tally
from shared.contracts.scorecard import MinuteCard
from shared.contracts.topics import Topic
from tests.unit.pipelines.control.observe.judged import applied, card_of, settled
from tests.unit.pipelines.control.observe.world import MINUTE, TENANT, World

PIPES = ("p1", "p2")


def mixed_world() -> World:
    """A small mixture with a loss and a double that transmit does not see."""
    outcomes = {0: "retried", 1: "dead", 2: "slow", 3: "waiting"}
    world = World(
        lost={(Stage.FIRST, "p1", "e7"), (Stage.DELIVERED, "p2", "e8")},
        doubled={(Stage.FURTHER, "p2", "e9"), (Stage.DELIVERED, "p1", "e10")},
    )
    world.send([f"e{at}" for at in range(40)], PIPES, lambda i, _: outcomes.get(int(i[1:]) % 10, "delivered"))
    world.send([f"f{at}" for at in range(5)], pipes=(), late=True)
    return world


WORLD = mixed_world()
EXPECTED = card_of(WORLD)


def card(book: LedgerState) -> MinuteCard:
    return minute_card(*settled(book, WORLD))


def cut_and_mixed(seed: int) -> list[Range]:
    """The same records, cut at other offsets, partitions interleaved; order within a partition is kept."""
    rng = random.Random(seed)
    ranges = WORLD.ranges(lambda _, end: [rng.randrange(end) for _ in range(rng.randrange(6))])
    by_place: dict[tuple[str, int], list[Range]] = {}
    for found in ranges:
        by_place.setdefault((found.topic, found.partition), []).append(found)
    turns = [place for place, held in by_place.items() for _ in held]
    rng.shuffle(turns)
    return [by_place[place].pop(0) for place in turns]


seeds = st.integers(0, 2**32)


@given(seeds)
def test_any_split_and_order_of_the_ledger_gives_the_same_card(seed: int) -> None:
    assert card(applied(cut_and_mixed(seed))) == EXPECTED


@given(seeds)
def test_ranges_that_come_again_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    ledger: list[Range] = []
    for found in cut_and_mixed(seed):
        ledger.append(found)
        ledger.extend(rng.choices(ledger, k=rng.randrange(3)))
    assert card(applied(ledger)) == EXPECTED


@given(seeds, st.integers(0, 100), st.integers(0, 100))
def test_a_restart_in_the_middle_gives_the_same_card(seed: int, stored: int, ahead: int) -> None:
    """States are stored, some of them again before the position is; the ledger is then read from there."""
    ledger = cut_and_mixed(seed)
    at = stored * len(ledger) // 100
    book = applied(ledger[:at])
    position = book.position
    applied(ledger[at : at + ahead * (len(ledger) - at) // 100], book, at)
    again = restarted(book, position)
    applied(ledger[position.offset :], again, position.offset)
    assert card(again) == EXPECTED


def restarted(book: LedgerState, position: LedgerPosition) -> LedgerState:
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(position), type=LedgerPosition)
    again = LedgerState()
    again.restore([MinuteState.decode(state.encode()) for state in book.minutes.values()], kept)
    return again


def in_parts(found: Range, parts: int) -> list[Range]:
    return [
        msgspec.structs.replace(found, part=part, parts=parts, tallies=found.tallies[part::parts])
        for part in range(parts)
    ]


def test_a_range_in_parts_counts_once_whatever_was_written_twice() -> None:
    ledger: list[Range] = []
    for found in WORLD.ranges():
        first, second, third = in_parts(found, 3)
        ledger += [first, second, first, second, third, third, first]
    assert card(applied(ledger)) == EXPECTED


def test_half_a_range_that_is_then_cut_otherwise_counts_once() -> None:
    halves = [in_parts(found, 2)[0] for found in WORLD.ranges()]
    assert card(applied([*halves, *WORLD.ranges(lambda _, end: [end // 2])])) == EXPECTED


def test_parts_that_wait_for_others_are_read_again_after_a_restart() -> None:
    found, *others = WORLD.ranges()
    first, second = in_parts(found, 2)
    ledger = [first, *others, second]
    book = applied(ledger[:-1])
    position = book.position
    assert position.offset == 0
    again = applied(ledger, restarted(book, position))
    assert card(again) == EXPECTED
    assert again.position.offset == len(ledger)


def test_covered_offsets_and_times_are_those_of_the_newest_range() -> None:
    book = applied(WORLD.ranges(lambda _, end: range(0, end, 7)))
    assert book.offsets == WORLD.ends
    assert all(covered.newest_ms % 60_000 == covered.end for covered in book.covered.values())


def test_only_changed_minutes_are_to_be_stored() -> None:
    book = applied(WORLD.ranges())
    assert [(state.tenant, state.minute) for state in book.dirty()] == [(TENANT, MINUTE)]
    assert book.dirty() == []
    applied(WORLD.ranges(), book, 100)
    assert book.dirty() == []
    book.note(settled(book, WORLD).judgement)
    assert len(book.dirty()) == 1
    book.note(settled(book, WORLD).judgement)
    assert book.dirty() == []


def one(minute: int, start: int, newest_ms: int = 1, count: int = 1) -> Range:
    end = start + count
    tallies = [
        Tally(stage=Stage.COLLECTED, tenant=TENANT, minute=minute, count=count, first=start, last=end - 1)
    ]
    return Range(
        topic=Topic.COLLECTED, partition=0, start=start, end=end, newest_ms=newest_ms, tallies=tallies
    )


def collected(book: LedgerState) -> int:
    return sum(state.count(Stage.COLLECTED) for state in book.minutes.values())


def test_a_forgotten_minute_does_not_come_back_as_a_part_of_itself() -> None:
    book = applied([one(5, 0), one(7, 1), one(9, 2)])
    gone = book.forget(8, [(TENANT, 5)])
    assert [state.minute for state in gone] == [5]
    applied([one(5, 3), one(7, 4), one(9, 5)], book, 3)
    assert {minute: state.count(Stage.COLLECTED) for (_, minute), state in book.minutes.items()} == {
        7: 2,
        9: 2,
    }
    again = restarted(book, book.position)
    applied([one(5, 6)], again, 6)
    assert (TENANT, 5) not in again.minutes


def test_bytes_that_are_no_state_are_refused() -> None:
    found = next(iter(applied(WORLD.ranges()).minutes.values())).encode()
    for body in (b"", b"x", found[:-9], found[9:]):
        with pytest.raises(ValueError):
            MinuteState.decode(body)


def test_a_balanced_minute_of_five_pipes_is_small() -> None:
    """Also with lags of all sizes; the store is dimensioned for 20 KB."""
    rng = random.Random(7)
    world = World().send([f"e{at}" for at in range(3_000)], [f"pipe-{at}" for at in range(5)])
    for records in world.topics.values():
        for at, record in enumerate(records):
            records[at] = [event._replace(lag_ms=int(rng.lognormvariate(6, 1.5))) for event in record]
    (state,) = applied(spread(world.ranges())).minutes.values()
    assert state.sketches == {}
    assert len(state.encode()) < 20_000


def spread(ranges: Iterable[Range]) -> list[Range]:
    """Spread ranges over eight partitions of each topic."""
    return [
        msgspec.structs.replace(
            found, partition=found.partition + at, tallies=found.tallies if at == 0 else []
        )
        for found in ranges
        for at in (0, 2, 4, 6)
    ]


@pytest.mark.parametrize("minute", [-1, MINUTE + 24 * 60, 10**15])
def test_a_minute_that_collect_cannot_have_stamped_is_left_out_and_its_neighbours_count(minute: int) -> None:
    foreign, own = (
        Tally(stage=Stage.EVENTS, tenant=TENANT, minute=at, count=3, first=0, last=2)
        for at in (minute, MINUTE)
    )
    found = Range(topic=Topic.EVENTS, partition=0, start=0, end=3, newest_ms=1, tallies=[foreign, own])
    book = LedgerState()
    book.apply(found, 0, MINUTE * 60_000)
    assert list(book.minutes) == [(TENANT, MINUTE)]
    assert book.offsets == {("events", 0): 3}


def test_the_events_of_a_recreated_topic_count_from_its_first_record(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its offsets were tallied before the topic was recreated; its records are newer."""
    book = applied([one(5, 0, newest_ms=1_000, count=500), one(5, 500, newest_ms=2_000)])
    assert book.restarted() == set()
    new = [one(6, 0, newest_ms=3_000), one(6, 1, newest_ms=3_000, count=3), one(6, 4, newest_ms=4_000)]
    applied(in_parts(new[0], 2) + new[1:] + new[:1], book, 2)
    assert collected(book) == 501 + 5
    assert book.offsets == {("collected", 0): 5}
    assert book.restarted() == {("collected", 0)}
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert collected(restarted(book, book.position)) == 506


def test_a_topic_that_the_brokers_call_recreated_is_tallied_from_its_start() -> None:
    """Even if its records have times before the former topic's, as from a clock that was ahead."""
    book = applied([one(5, 0, newest_ms=9_000, count=500)])
    book.restart(("collected", 0))
    assert book.offsets == {}
    applied([one(6, 0, newest_ms=3_000, count=4)], book, 1)
    assert collected(book) == 504


def test_a_range_that_overlaps_what_was_tallied_is_left_out_with_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    book = applied([one(5, 0, newest_ms=9_000, count=50)])
    for at in range(3):
        applied([one(5, 40, newest_ms=9_500, count=20)], book, 1 + at, now_ms=MINUTE * 60_000 + at)
    assert collected(book) == 50
    (record,) = caplog.records
    found = (record.levelname, record.__dict__["topic"], record.__dict__["start"], record.__dict__["end"])
    assert found == ("ERROR", "collected", 40, 60)
    assert record.__dict__["tallied_to"] == 50
    applied([one(5, 40, newest_ms=9_500, count=20)], book, 9, now_ms=(MINUTE + 1) * 60_000)
    assert len(caplog.records) == 2, "once a minute at most"
    applied([one(5, 40, newest_ms=9_500, count=20)], book, 10, now_ms=MINUTE * 60_000)
    assert len(caplog.records) == 3, "the clock was set back"
    applied([one(5, 0, count=50), one(5, 50)], book, 11)
    assert len(caplog.records) == 3, "ranges that come again are usual after a crash of audit"
