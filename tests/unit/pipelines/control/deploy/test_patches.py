"""A step forward waits while the target's brokers or machines are patched; a step back does not."""

import pytest

from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD
from tests.harness.release_world import SHORT, ReleaseWorld, assert_whole

PATCHED = [f"a broker of {DARK} is being patched"]


def _patched_at(step: Step) -> ReleaseWorld:
    """A release whose target is being patched when it reaches a step."""
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    world.place.world.sides[DARK].patched = True
    return world


def test_a_patch_that_begins_at_half_holds_up_all_the_traffic_until_it_is_over() -> None:
    world = _patched_at(Step.WATCH_HALF)
    world.until(lambda release: release.step is Step.ALL)
    called = list[str]()
    world.place.before_call = called.append
    for _ in range(300):
        world.turn()
    assert (world.release.step, world.release.waits) == (Step.ALL, PATCHED)
    assert called == []
    assert world.place.world.shares == {LIGHT: 50, DARK: 50}
    world.place.world.sides[DARK].patched = False
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


@pytest.mark.parametrize("step", [Step.START, Step.PROVE, Step.LOAD_TEST, Step.CANARY, Step.HALF, Step.ALL])
def test_each_step_that_starts_code_or_brings_events_waits(step: Step) -> None:
    world = _patched_at(step)
    for _ in range(30):
        world.turn()
    assert (world.release.step, world.release.waits) == (step, PATCHED)
    world.place.world.sides[DARK].patched = False
    assert world.ended().step is Step.DONE


def test_the_end_of_a_burst_waits_for_a_patch_of_the_side_that_takes_all() -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.BURST)
    world.ended()
    world.ask(Kind.BURST_OFF)
    world.place.world.sides[LIGHT].patched = True
    for _ in range(1_000):
        world.turn()
    assert (world.release.step, world.release.waits) == (Step.ALL, [f"a broker of {LIGHT} is being patched"])
    world.place.world.sides[LIGHT].patched = False
    world.place.silent_brokers = {LIGHT}  # this does not justify further bursting
    assert world.ended().step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_the_side_that_traffic_leaves_may_be_patched() -> None:
    world = _patched_at(Step.CANARY)
    sides = world.place.world.sides
    sides[DARK].patched, sides[LIGHT].patched = False, True
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


def test_a_release_that_waits_for_a_patch_is_undone_at_once_when_that_is_asked_for() -> None:
    world = _patched_at(Step.ALL)
    world.place.world.sides[LIGHT].patched = True
    world.turn()
    assert world.release.waits
    world.ask(Kind.ROLLBACK)
    for _ in range(5):
        world.turn()
    assert world.place.world.shares == {LIGHT: 100, DARK: 0}
    assert world.ended().step is Step.UNDONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_rollback_goes_to_a_side_that_is_being_patched() -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, NEW)
    world.ended()
    for side in world.place.world.sides.values():
        side.patched = True
    world.ask(Kind.ROLLBACK)
    assert world.ended().step is Step.DONE
    assert_whole(world, version=OLD, side=LIGHT)


def test_a_version_with_traffic_does_not_wait_for_a_patch_for_longer_than_for_anything_else() -> None:
    world = _patched_at(Step.HALF)
    world.turn()
    world.turn(601)
    assert world.release.back.startswith("half had to wait 601 s: a broker of green")


def test_a_step_that_has_begun_is_not_interrupted_by_a_patch() -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.READY)
    world.turn()
    world.place.world.sides[DARK].patched = True
    world.place.world.sides[DARK].failed = True  # whatever failed to start is started again
    world.until(lambda release: release.step is Step.PROVE)
    world.turn()
    assert world.release.waits == PATCHED


def test_one_that_takes_over_asks_before_it_starts_anything_again() -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.READY)
    world.place.world.sides[DARK].patched = True
    world.another()
    called = list[str]()
    world.place.before_call = called.append
    for _ in range(20):
        world.turn()
    assert (world.release.step, world.release.waits, called) == (Step.READY, PATCHED, [])


def test_what_cannot_be_asked_is_waited_for() -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.WATCH)
    world.place.silent_brokers = {DARK}
    world.until(lambda release: release.step is Step.HALF)
    world.turn()
    why = f"it is not known whether {DARK} is being patched: no broker of {DARK} answers"
    assert world.release.waits == [why]
    world.place.silent_brokers = set()
    assert world.ended().step is Step.DONE


def test_the_place_is_asked_once_a_step_and_every_ten_seconds_while_that_waits() -> None:
    world = _patched_at(Step.ALL)
    before = world.place.patch_looks
    for _ in range(60):
        world.turn()
    assert world.place.patch_looks - before == 6
    world.place.world.sides[DARK].patched = False
    world.until(lambda release: release.step is Step.BAKE)
    before = world.place.patch_looks
    assert world.ended().step is Step.DONE
    assert world.place.patch_looks == before


def test_a_step_that_waited_for_another_actor_is_asked_for_anew() -> None:
    world = _patched_at(Step.ALL)
    world.place.world.sides[DARK].patched = False
    world.permissions.waits = ["green: maintenance: maintain is under way"]
    for _ in range(60):
        world.turn()
    world.place.world.sides[DARK].patched = True
    world.permissions.waits = []
    world.turn()
    assert (world.release.step, world.release.waits) == (Step.ALL, PATCHED)
