"""A lease is kept while its holder works, but not while the holder hangs."""

import threading
from collections.abc import Callable
from typing import cast

import pytest

from shared.dynamodb.client import StoreError
from shared.dynamodb.lease import Lease
from shared.dynamodb.renewed_lease import RenewedLease


class Held:
    """A lease with scripted answers."""

    def __init__(self) -> None:
        self.answer, self.beats, self.released = True, 0, 0
        self.renewed = threading.Event()
        self.delay: Callable[[], None] = lambda: None

    def held(self) -> bool:
        self.delay()
        self.beats += 1
        if self.beats > 2:
            self.renewed.set()
        return self.answer

    def release(self) -> None:
        self.released += 1


class World:
    """A renewed lease, the one below it, its clock, and the work that it keeps alive."""

    def __init__(self, renew_seconds: float = 5.0) -> None:
        self.below, self.now, self.also = Held(), 0.0, 0
        self.lease = RenewedLease(
            cast(Lease, self.below),
            renew_seconds=renew_seconds,
            work_seconds=60.0,
            monotonic=lambda: self.now,
            also=self._also,
        )

    def _also(self) -> None:
        self.also += 1


def test_it_is_renewed_during_work_that_takes_longer_than_the_lease() -> None:
    world = World(renew_seconds=0.01)
    assert world.lease.held()
    world.lease.start()
    assert world.below.renewed.wait(60), "nothing renewed it while the work went on"
    world.lease.stop()
    assert world.below.released == 1


def test_an_error_that_was_not_expected_does_not_end_the_renewals() -> None:
    world = World(renew_seconds=0.01)
    assert world.lease.held()

    def fails_once() -> None:
        world.below.delay = lambda: None
        raise RuntimeError("not a failure of the table")

    world.below.delay = fails_once
    world.lease.start()
    assert world.below.renewed.wait(60), "nothing renewed it any more"
    world.lease.stop()


def test_work_that_hangs_keeps_nothing_alive_until_the_next_begins() -> None:
    world = World()
    assert world.lease.held()
    world.now = 60.0
    world.lease.keep()
    assert (world.below.beats, world.also) == (2, 1)
    world.now = 60.1
    world.lease.keep()
    assert (world.below.beats, world.also) == (2, 1)
    world.now = 70.0
    assert world.lease.held()
    world.lease.keep()
    assert (world.below.beats, world.also) == (4, 2)


def test_between_two_pieces_of_work_it_takes_nothing_over() -> None:
    world = World()
    world.lease.keep()
    assert world.below.beats == 0
    assert world.lease.held()
    world.below.answer = False
    world.lease.keep()
    world.lease.keep()
    assert world.below.beats == 2, "it was lost, and only the next work may want it"
    assert world.also == 3, "what the process has besides is its own all the same"


def test_what_was_given_up_is_not_renewed_and_released_once() -> None:
    world = World()
    assert world.lease.held()
    world.lease.give_up()
    world.lease.give_up()
    world.lease.keep()
    assert (world.below.beats, world.below.released) == (1, 1)
    assert world.lease.held()


def test_pieces_of_work_that_follow_each_other_closely_ask_the_table_once() -> None:
    world = World(renew_seconds=5.0)
    assert world.lease.held()
    for now in (0.5, 4.9):
        world.now = now
        assert world.lease.held()
    assert world.below.beats == 1
    world.lease.keep()
    world.now = 9.8
    assert world.lease.held(), "the thread has renewed it meanwhile"
    assert world.below.beats == 2


def test_work_that_was_not_begun_by_asking_the_table_may_take_as_long_as_any() -> None:
    world = World(renew_seconds=5.0)
    assert world.lease.held()
    world.now = 4.5
    assert world.lease.held()
    world.now = 64.5
    world.lease.keep()
    assert world.below.beats == 2


def test_a_holder_that_was_suspended_learns_that_it_lost_the_lease() -> None:
    world = World(renew_seconds=5.0)
    assert world.lease.held()
    world.now, world.below.answer = 20.0, False
    assert not world.lease.held()


def test_a_holder_that_was_suspended_within_a_renewal_learns_that_it_lost_the_lease() -> None:
    world = World(renew_seconds=5.0)

    def suspended() -> None:
        world.now += 20.0

    world.below.delay = suspended
    assert world.lease.held()
    world.below.delay, world.below.answer = (lambda: None), False
    assert not world.lease.held()


def test_a_lease_that_was_lost_while_others_work_is_wanted_from_the_table_by_the_next_work() -> None:
    world = World(renew_seconds=5.0)
    assert world.lease.held()
    world.below.answer = False
    world.lease.keep()
    assert not world.lease.held()
    assert world.below.beats == 3


def test_a_holder_that_met_another_ones_writes_asks_however_recent_the_renewal() -> None:
    world = World(renew_seconds=5.0)
    assert world.lease.held()
    world.lease.doubt()
    world.below.answer = False
    assert not world.lease.held()


def test_a_table_that_does_not_answer_is_noticed_once_the_last_renewal_is_old() -> None:
    world = World(renew_seconds=5.0)
    assert world.lease.held()

    def unavailable() -> None:
        raise StoreError("no answer")

    world.below.delay, world.now = unavailable, 5.0
    with pytest.raises(StoreError):
        world.lease.keep()
    with pytest.raises(StoreError):
        world.lease.held()
