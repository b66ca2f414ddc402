"""A deployer that dies at any point of a release is replaced, and both sides end in a whole state."""

from collections.abc import Callable, Iterator

import pytest

from pipelines.control.deploy.backend import FencedError
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Positions, Release
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad, badly_ended, described, doubled
from tests.harness.release_world import SHORT, ReleaseWorld

PAUSE = 5.0


class DiedError(BaseException):
    """Ends the process at this point."""


class Points:
    """Counts the moments at which a process can die, and kills it at one of them."""

    def __init__(self, world: ReleaseWorld, fatal: int | None) -> None:
        self.count, self.names, self._fatal = 0, list[str](), fatal
        world.place.before_call = lambda name: self.pass_by(f"before {name}")
        world.place.after_call = lambda name: self.pass_by(f"after {name}")
        world.store.before_put = lambda: self.pass_by("before a write")
        world.store.after_put = lambda: self.pass_by("after a write")

    def pass_by(self, name: str) -> None:
        self.names.append(name)
        self.count += 1
        if self.count - 1 == self._fatal:
            raise DiedError(name)


def run(kind: Kind, version: str, fatal: int | None) -> tuple[ReleaseWorld, Points]:
    """A whole release; after a death another process takes over."""
    world = ReleaseWorld(SHORT)
    if kind is Kind.ROLLBACK:
        world.ask(Kind.DEPLOY, version)
        turn_to_end(world)
    world.ask(kind, version, replay=kind is Kind.ROLLBACK)
    points = Points(world, fatal)
    turn_to_end(world)
    return world, points


def turn_to_end(world: ReleaseWorld) -> None:
    for _ in range(2_000):
        try:
            world.turn(PAUSE)
        except DiedError:
            world.another()
        if world.release.ended:
            return
    raise AssertionError(world.release)


def whole(release: Release, world: ReleaseWorld) -> str:
    """The whole state that the place is in: old or new."""
    world.turn(PAUSE)
    found = world.place.world
    (serving,) = [side for side, share in found.shares.items() if share == 100]
    other = found.sides[DARK if serving == LIGHT else LIGHT]
    assert not found.sides[serving].parked
    assert other.parked
    assert not found.refused, "events came to a side that was parked"
    assert badly_ended(found) == []
    assert doubled(found) == []
    assert (release.step is Step.DONE) == (found.sides[serving].version == release.version)
    return "old" if found.sides[serving].version == OLD else "new"


RUNS = {
    "good": (Kind.DEPLOY, NEW, "new"),
    "bad": (Kind.DEPLOY, Bad.DROPS, "old"),
    "rollback": (Kind.ROLLBACK, NEW, "old"),
}


def points_of(name: str) -> Iterator[int]:
    kind, version, _ = RUNS[name]
    yield from range(run(kind, version, None)[1].count)


@pytest.mark.parametrize("name", RUNS)
def test_killed_at_any_point_a_release_ends_as_it_would_have(name: str) -> None:
    kind, version, state = RUNS[name]
    points = list(points_of(name))
    assert len(points) > 20
    for fatal in points:
        world, _ = run(kind, version, fatal)
        assert whole(world.release, world) == state, fatal
        assert world.processes == 2, fatal


@pytest.mark.parametrize("step", [Step.START, Step.CANARY, Step.PARK])
def test_a_process_that_was_replaced_changes_nothing_any_more(step: Step) -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, NEW)
    known = world.until(lambda release: release.step is step)
    world.another()
    turn_to_end(world)
    before = described(world.place.world)
    late: tuple[Callable[[], None], ...] = (
        lambda: world.place.set_weights({LIGHT: 100, DARK: 0}, fence=known.term),
        lambda: world.place.start(LIGHT, OLD, fence=known.term),
        lambda: world.place.park(DARK, fence=known.term),
        lambda: world.place.restore(LIGHT, Positions(), replayed=None, fence=known.term),
    )
    for change in late:
        with pytest.raises(FencedError):
            change()
    assert described(world.place.world) == before
    assert world.store.put(known) is None


def test_a_place_that_remembers_a_higher_term_than_the_table_is_caught_up_with() -> None:
    world = ReleaseWorld(SHORT)
    world.place.world.fence = 4
    world.ask(Kind.DEPLOY, NEW)
    refused = 0
    for _ in range(2_000):
        try:
            world.turn(PAUSE)
        except FencedError:
            refused += 1
        if world.release.ended:
            break
    assert refused == 3
    assert whole(world.release, world) == "new"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_spoilt_checkpoint_that_was_made_anew_when_the_deployer_died_is_still_replayed(when: str) -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, Bad.SLOWER)
    world.until(lambda release: release.step is Step.WATCH)
    world.place.world.sides[DARK].spoilt = True
    died = list[str]()

    def die(name: str) -> None:
        if name == "restore" and not died:
            died.append(name)
            raise DiedError

    if when == "before":
        world.place.before_call = die
    else:
        world.place.after_call = die
    turn_to_end(world)
    assert (died, world.processes) == (["restore"], 2)
    assert any(marked for *_, marked in world.place.world.sides[DARK].processed)
    assert whole(world.release, world) == "old"


def test_a_side_that_was_parked_already_is_started_before_it_gets_its_traffic_back() -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.PARK)

    def die(name: str) -> None:
        if name == "park" and world.place.world.sides[LIGHT].parked:
            raise DiedError

    world.place.after_call = die
    with pytest.raises(DiedError):
        world.ended()
    world.place.after_call = lambda _: None
    assert world.place.world.sides[LIGHT].parked
    world.another()
    world.ask(Kind.ROLLBACK)
    turn_to_end(world)
    assert whole(world.release, world) == "old"
