"""A waiting release, or one that may have lost its activities, changes nothing; a step back goes on."""

from collections.abc import Callable
from random import Random

import pytest

from shared.contracts.release_steps import Kind, Step
from tests.harness.fake_world import DARK, LIGHT, NEW, OLD, Bad
from tests.harness.release_world import SHORT, FakePermissions, ReleaseWorld, assert_whole

FORWARD = [
    Step.START,
    Step.READY,
    Step.PROVE,
    Step.LOAD_TEST,
    Step.CANARY,
    Step.HALF,
    Step.ALL,
    Step.DRAIN,
    Step.PARK,
]
"""Steps of a deployment that change the sides."""


def _waits(world: ReleaseWorld) -> None:
    world.permissions.waits = ["green: maintenance: maintain is under way"]


def _is_not_sure(world: ReleaseWorld) -> None:
    world.permissions.certain = False


@pytest.mark.parametrize("holds_up", [_waits, _is_not_sure])
@pytest.mark.parametrize("step", FORWARD)
def test_a_step_forward_that_may_not_act_only_looks(
    step: Step, holds_up: Callable[[ReleaseWorld], None]
) -> None:
    world = ReleaseWorld(SHORT)
    world.ask(Kind.DEPLOY, NEW)
    world.until(lambda release: release.step is step)
    world.another()
    world.turn()
    world.place.world.sides[LIGHT].retries = 4  # otherwise it would be drained at once
    holds_up(world)
    called = list[str]()
    world.place.before_call = called.append
    for _ in range(20):
        world.turn()
    assert called == []
    assert world.release.step is step
    assert world.release.waits or "could not be kept alive" in world.release.said
    world.place.world.sides[LIGHT].retries = 0
    world.permissions.waits, world.permissions.certain = [], True
    assert world.ended().step is Step.DONE
    assert_whole(world, version=NEW, side=DARK)


class Doubtful(FakePermissions):
    """Permissions that are checked before each change, and permit some of them."""

    def __init__(self, world: ReleaseWorld) -> None:
        super().__init__()
        self.answers, self.changes, self._random = list[bool](), 0, Random(1)
        world.place.before_call = self._before_change

    def sure(self, release: object) -> bool:
        self.answers.append(self._random.random() > 0.2)
        return self.answers[-1]

    def _before_change(self, name: str) -> None:
        assert self.answers, f"{name}: not asked since the last change"
        assert self.answers[-1], name
        self.answers.clear()
        self.changes += 1


@pytest.mark.parametrize(
    ("kind", "version", "then"),
    [
        (Kind.DEPLOY, NEW, Kind.ROLLBACK),
        (Kind.DEPLOY, Bad.DROPS, None),
        (Kind.DEPLOY, Bad.CRASHES, None),
        (Kind.SWITCH, "", None),
        (Kind.BURST, "", Kind.BURST_OFF),
    ],
)
def test_permission_is_checked_right_before_each_change_of_a_release(
    kind: Kind, version: str, then: Kind | None
) -> None:
    world = ReleaseWorld(SHORT)
    world.permissions = permissions = Doubtful(world)
    world.another()
    world.ask(kind, version)
    assert world.ended().ended
    if then is not None:
        world.ask(then)
        assert world.ended().step is Step.DONE
    assert permissions.changes > 5
    assert_whole(world, version=OLD, side=DARK if kind is Kind.SWITCH else LIGHT)
