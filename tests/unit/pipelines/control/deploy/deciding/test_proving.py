"""Proof events that have not arrived may wait for a cold chain, or be lost."""

from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, NEW
from tests.harness.release_world import ReleaseWorld

WAITS = "100 of 100 events arrived byte for byte; 8 have not arrived"


def proving() -> ReleaseWorld:
    """A release that proves a side; eight of its events are overdue."""
    world = ReleaseWorld()
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is Step.PROVE)
    world.place.world.sides[DARK].overdue = 8
    return world


def test_events_that_waited_for_a_cold_chain_do_not_undo_a_release() -> None:
    world = proving()
    for _ in range(60):
        world.turn()
    assert (world.release.step, world.release.said, world.release.back) == (Step.PROVE, WAITS, "")
    world.place.world.sides[DARK].overdue = 0
    assert world.ended().step is Step.DONE


def test_events_that_never_arrive_undo_a_release() -> None:
    release = proving().ended()
    assert (release.step, release.back) == (Step.UNDONE, f"prove was not over after 300 s: {WAITS}")
