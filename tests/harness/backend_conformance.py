"""Tests that every backend of the deployer passes: derive a class, and say where the sides are.

A class that derives from `BackendConformance` has a fixture `place`. Its tests may run in any order on one
place, with its dark side parked in between.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import pytest

from pipelines.control.deploy.backend import (
    Backend,
    BackendError,
    CannotReplayError,
    FencedError,
    Proof,
    Readiness,
)
from pipelines.control.deploy.judging.sufficiency import left
from pipelines.control.deploy.replays import replay_positions
from shared.contracts.envelope import MINUTE_MS
from shared.runtime.clock import Clock, wall_clock

_PAUSE: Final = 0.5


@dataclass(kw_only=True)
class Place:
    """Two sides with traffic on one."""

    backend: Backend
    light: str
    """Has all the traffic, and runs `old`."""

    dark: str
    old: str
    """Names of versions that can be run."""

    new: str
    unknown: str
    """Names no version."""

    patience: float = 300
    """Seconds that a side may take for anything."""

    pause: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    clock: Clock = wall_clock
    fence: int = 1
    tenant: str = ""
    """A tenant with events that can be sent to one side; empty if there is none."""

    def eventually(self, holds: Callable[[], bool], what: str) -> None:
        until = self.monotonic() + self.patience
        while not holds():
            assert self.monotonic() < until, f"not within {self.patience:.0f} s: {what}"
            self.pause(_PAUSE)

    def wake(self, version: str) -> None:
        """Start the dark side, and wait until it could take traffic."""
        self.backend.start(self.dark, version, fence=self.fence)
        self.eventually(lambda: self.backend.readiness(self.dark).ready, f"{self.dark} is ready")

    def lay_down(self) -> None:
        """Park the dark side, and wait until it is."""

        def parked() -> bool:
            self.backend.park(self.dark, fence=self.fence)
            return self.backend.deployed(self.dark).parked

        self.eventually(parked, f"{self.dark} is parked")


class BackendConformance:
    """Derive from it."""

    @pytest.fixture(autouse=True)
    def _as_it_was(self, place: Place) -> None:
        place.backend.set_weights({place.light: 100, place.dark: 0}, fence=place.fence)
        place.lay_down()

    def test_two_sides_share_all_of_the_traffic(self, place: Place) -> None:
        assert set(place.backend.sides()) == {place.light, place.dark}
        assert dict(place.backend.weights()) == {place.light: 100, place.dark: 0}
        assert place.backend.deployed(place.light).version == place.old
        assert not place.backend.deployed(place.light).parked

    def test_a_parked_side_wakes_up_with_a_version_and_starts_it_once(self, place: Place) -> None:
        assert not place.backend.readiness(place.dark).ready
        place.wake(place.new)
        place.backend.start(place.dark, place.new, fence=place.fence)
        found = place.backend.readiness(place.dark)
        assert found == Readiness(ready=True, waiting_for=(), crashes=0), "the second call started it anew"
        code = place.backend.deployed(place.dark)
        assert (code.version, code.parked) == (place.new, False)
        place.lay_down()
        place.lay_down()
        code = place.backend.deployed(place.dark)
        assert (code.version, code.parked) == (place.new, True)

    def test_a_version_that_is_not_there_is_an_obstacle_that_lasts(self, place: Place) -> None:
        def lasting(version: str) -> list[str] | None:
            found = place.backend.obstacles(place.dark, version)
            return None if found is None else [each.text for each in found if each.lasting]

        place.eventually(lambda: bool(lasting(place.unknown)), "an obstacle is found")
        texts = lasting(place.unknown)
        assert texts
        assert any(place.unknown in text for text in texts)
        place.eventually(lambda: lasting(place.new) == [], "the version is found to be good")

    def test_what_passes_is_known_of_a_side_that_is_not_being_patched(self, place: Place) -> None:
        for side in (place.light, place.dark):
            place.eventually(partial(self._is_left_alone, place, side), f"{side} is not being patched")

    def _is_left_alone(self, place: Place, side: str) -> bool:
        found = place.backend.passing(side)
        assert not any(each.lasting for each in found)
        assert place.backend.closed(side) == ""
        return not found

    def test_a_version_that_serves_can_be_started_again_and_one_that_is_not_there_is_named(
        self, place: Place
    ) -> None:
        for side in (place.light, place.dark):
            assert place.backend.unstartable(side, place.old) == ""
            assert place.unknown in place.backend.unstartable(side, place.unknown)

    def test_weights_are_in_force_when_they_are_set(self, place: Place) -> None:
        place.wake(place.new)
        for share in (10, 50, 50, 100, 0):
            weights = {place.light: 100 - share, place.dark: share}
            place.backend.set_weights(weights, fence=place.fence)
            assert dict(place.backend.weights()) == weights

    def test_a_side_that_takes_no_events_gets_no_traffic(self, place: Place) -> None:
        with pytest.raises(BackendError):
            place.backend.set_weights({place.light: 50, place.dark: 50}, fence=place.fence)
        assert dict(place.backend.weights()) == {place.light: 100, place.dark: 0}

    def test_a_customer_goes_to_one_side_or_it_is_said_why_not(self, place: Place) -> None:
        weights = {place.light: 100, place.dark: 0}
        assert dict(place.backend.pinned()) == {}
        assert place.backend.unroutable(["nobody-of-this-name"])
        if not place.tenant:
            assert "canary_tenants" in place.backend.unroutable(["acme"])
            with pytest.raises(BackendError, match="canary_tenants"):
                place.backend.set_weights(weights, pinned={"acme": place.dark}, fence=place.fence)
            return
        place.wake(place.new)
        assert place.backend.unroutable([place.tenant]) == ""
        for _ in range(2):
            place.backend.set_weights(weights, pinned={place.tenant: place.dark}, fence=place.fence)
            assert dict(place.backend.pinned()) == {place.tenant: place.dark}
            assert dict(place.backend.weights()) == weights
        place.backend.set_weights(weights, fence=place.fence)
        assert dict(place.backend.pinned()) == {}

    def test_a_parked_side_begins_where_it_is_told_to(self, place: Place) -> None:
        place.wake(place.old)
        place.lay_down()
        before = place.backend.positions(place.dark)
        assert before.queries
        for _ in range(2):
            place.backend.restore(place.dark, before, replayed=None, fence=place.fence)
            assert place.backend.positions(place.dark) == before
            assert place.backend.readable_positions(place.dark) == before

    def test_a_replay_is_made_or_refused_and_may_be_asked_for_twice(self, place: Place) -> None:
        place.wake(place.old)
        place.lay_down()
        before = place.backend.positions(place.dark)
        for _ in range(2):
            try:
                place.backend.restore(place.dark, before, replayed=before, fence=place.fence)
            except CannotReplayError as error:
                assert str(error)
            assert place.backend.positions(place.dark) == before

    def test_a_replay_is_processed_to_its_end_and_what_comes_after_it_arrives_once(
        self, place: Place
    ) -> None:
        place.wake(place.old)
        place.lay_down()
        snapshot = place.backend.positions(place.dark)
        place.wake(place.old)
        self._proved(place)
        place.lay_down()
        left_at = place.backend.positions(place.dark)
        begin = replay_positions(snapshot, left_at)
        place.backend.restore(place.dark, begin, replayed=left_at, fence=place.fence)
        assert place.backend.positions(place.dark) == begin
        place.wake(place.old)

        def passed() -> bool:
            found, reached = place.backend.positions(place.dark).queries, left_at.queries["ingest"]
            return all(found["ingest"][name] >= offset for name, offset in reached.items())

        place.eventually(passed, "the replay is over")
        self._proved(place)

    def _proved(self, place: Place) -> None:
        def found() -> Proof:
            return place.backend.prove(place.dark, 20, fence=place.fence)

        place.eventually(lambda: found().arrived >= 20, "20 events arrived")
        assert (found().changed, found().doubled, found().refused, found().missing) == (0, 0, 0, 0)

    def test_events_for_proof_go_through_the_dark_side_and_arrive(self, place: Place) -> None:
        place.wake(place.new)
        place.eventually(
            lambda: place.backend.prove(place.dark, 20, fence=place.fence).arrived >= 20, "20 events arrived"
        )
        found = place.backend.prove(place.dark, 20, fence=place.fence)
        assert (found.changed, found.doubled, found.refused, found.missing) == (0, 0, 0, 0)
        assert dict(place.backend.weights()) == {place.light: 100, place.dark: 0}

    def test_what_is_left_is_known_of_every_group_of_the_chain(self, place: Place) -> None:
        place.wake(place.old)

        def settled() -> bool:
            place.backend.pause_canary(place.dark, fence=place.fence)
            return not left(place.backend.remains(place.dark), retries=False)

        place.eventually(settled, f"{place.dark} has read all")
        counted = place.backend.dead_letters
        place.eventually(lambda: counted(place.dark) is not None, "its dead letters are counted")
        assert all(count > 0 for count in (counted(place.dark) or {}).values())

    def test_minutes_come_in_their_order_and_with_events(self, place: Place) -> None:
        now = place.clock() // MINUTE_MS
        found = place.backend.minutes(place.light, now - 30, now)
        assert [each.minute for each in found] == sorted({each.minute for each in found})
        assert all(each.total > 0 or not each.settled for each in found)
        assert all(0 <= each.good <= each.total for each in found)

    def test_stability_is_answered_for_a_parked_side_too(self, place: Place) -> None:
        assert not place.backend.stability(place.dark).stable
        assert place.backend.stability(place.dark).reasons

    def test_a_deployer_that_was_replaced_changes_nothing(self, place: Place) -> None:
        late, place.fence = place.fence, place.fence + 1
        place.backend.set_weights({place.light: 100, place.dark: 0}, fence=place.fence)
        positions = place.backend.positions(place.dark)
        with pytest.raises(FencedError):
            place.backend.set_weights({place.light: 0, place.dark: 100}, fence=late)
        with pytest.raises(FencedError):
            place.backend.start(place.dark, place.new, fence=late)
        with pytest.raises(FencedError):
            place.backend.park(place.light, fence=late)
        with pytest.raises(FencedError):
            place.backend.restore(place.dark, positions, replayed=None, fence=late)
        assert dict(place.backend.weights()) == {place.light: 100, place.dark: 0}
        assert place.backend.deployed(place.dark).parked
        assert not place.backend.deployed(place.light).parked
