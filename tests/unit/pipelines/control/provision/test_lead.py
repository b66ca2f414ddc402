"""The lead is kept while a look is under way, but not by one that hangs."""

import threading
from typing import cast

from pipelines.control.provision.lead import Lead
from shared.dynamodb.lease import Lease


class Held:
    """A lease that answers as told."""

    def __init__(self) -> None:
        self.answer, self.beats, self.released = True, 0, 0
        self.renewed = threading.Event()

    def held(self) -> bool:
        self.beats += 1
        if self.beats > 2:
            self.renewed.set()
        return self.answer

    def release(self) -> None:
        self.released += 1


class World:
    """A lead, its lease and its clock."""

    def __init__(self, lease_seconds: float = 5.0) -> None:
        self.lease, self.now = Held(), 0.0
        self.lead = Lead(
            cast(Lease, self.lease),
            lease_seconds=lease_seconds,
            look_seconds=60.0,
            monotonic=lambda: self.now,
        )


def test_it_is_renewed_during_a_look_that_takes_longer_than_the_lease() -> None:
    world = World(lease_seconds=0.03)
    assert world.lead.held()
    world.lead.start()
    assert world.lease.renewed.wait(20), "nothing renewed it while the look went on"
    world.lead.stop()
    assert world.lease.released == 1


def test_a_look_that_hangs_is_renewed_no_longer_until_the_next_one_begins() -> None:
    world = World()
    assert world.lead.held()
    world.now = 60.0
    world.lead.keep()
    assert world.lease.beats == 2
    world.now = 60.1
    world.lead.keep()
    assert world.lease.beats == 2
    assert world.lead.held()
    world.lead.keep()
    assert world.lease.beats == 4


def test_between_looks_it_takes_nothing_over() -> None:
    world = World()
    world.lead.keep()
    assert world.lease.beats == 0
    assert world.lead.held()
    world.lease.answer = False
    world.lead.keep()
    world.lead.keep()
    assert world.lease.beats == 2, "it was lost, and only the next look may want it"
