"""A place in memory that looks into the registers of activities at each change that a step forward makes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pipelines.control.deploy.policy import action_of, sides_of
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.permission import RULES
from shared.contracts.releases import Release
from shared.dynamodb.activity_reader import ActivityReader
from tests.harness.fake_place import FakePlace
from tests.harness.fake_world import World


class WatchedPlace(FakePlace):
    """Changes are made with the deployer's own activity under way on that side, and none that excludes it."""

    def __init__(
        self,
        clock: Callable[[], int],
        readers: Mapping[str, ActivityReader],
        release: Callable[[], Release | None],
    ) -> None:
        """`readers` by side, each with a true clock; `release` is the one that is moved on."""
        super().__init__(clock)
        self._readers, self._release = readers, release
        self.pass_by: Callable[[], None] = lambda: None
        """Called within each call, once it was checked: the time that a call takes."""

    @contextmanager
    def _changed(self, name: str, fence: int, *sides: str) -> Iterator[World]:
        release = self._release()
        if release is not None and fence >= self.world.fence and action_of(release) is not Action.STEP_BACK:
            for side in sides:
                _check(name, release, side, self._readers[side].look().activities)
        with super()._changed(name, fence, *sides) as world:
            yield world

    @contextmanager
    def _world(self) -> Iterator[World]:
        self.pass_by()
        with super()._world() as world:
            yield world


def _check(call: str, release: Release, side: str, under_way: Sequence[Activity]) -> None:
    at = f"{call} on {side} in step {release.step}, while {', '.join(map(str, under_way)) or 'none'} acts"
    assert side in sides_of(release), at
    own = [each for each in under_way if each.owner == release.owner]
    assert [each.action for each in own] == [action_of(release)], at
    assert [each for each in under_way if each not in own and _exclude(own[0], each)] == [], at


def _exclude(one: Activity, other: Activity) -> bool:
    """Whether the later one of two should have waited for the earlier one."""
    earlier, later = sorted((one, other), key=lambda each: each.fence)
    return earlier.action in RULES[later.action].waits_for
