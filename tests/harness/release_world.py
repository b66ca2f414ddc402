"""A deployer over a fake place, with a table in memory and a register without rivals."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from pipelines.control.deploy.deployer import Deployer
from pipelines.control.deploy.operations import Operations
from pipelines.control.deploy.policy import Policy
from shared.contracts.release_requests import Request, requested
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import Release
from tests.harness.fake_place import FakePlace
from tests.harness.fake_world import DARK, LIGHT, badly_ended, described, doubled

START_MS = 1_800_000_000_000
QUICK = Policy(watch_minutes=1, half_minutes=1, switch_seconds=60, bake_minutes=1)
"""Each wait is as short as it may be."""

SHORT = replace(QUICK, rating_days=1)
"""As QUICK, and a rating is wanted."""

LONG = 4_000
"""Turns after which a release that has not ended never will."""


class Abandoned(BaseException):
    """The process died here."""


class MemoryStore:
    """A table of one item."""

    def __init__(self) -> None:
        self.release: Release | None = None
        self.before_put: Callable[[], None] = lambda: None
        self.after_put: Callable[[], None] = lambda: None

    def current(self) -> Release | None:
        return self.release

    def put(self, release: Release, guards: Sequence[dict[str, Any]] = ()) -> Release | None:
        self.before_put()
        if self.release is not None and self.release.revision != release.revision:
            return None
        self.release = replace(release, revision=release.revision + 1)
        self.after_put()
        return self.release


class FakePermissions:
    """Everything is allowed, but for what a test forbids."""

    def __init__(self) -> None:
        self.waits: list[str] = []
        self.certain = True

    def take(self, release: Release) -> Sequence[str]:
        return self.waits if not release.back else []

    def sure(self, release: Release) -> bool:
        return self.certain

    def guards(self) -> list[dict[str, Any]]:
        return []

    def let_go(self) -> None:
        pass


class ReleaseWorld:
    """The time, the place, the table, and a deployer that can die and be replaced."""

    def __init__(self, policy: Policy | None = None, store: Any = None) -> None:
        self.now_ms = START_MS
        self.place = FakePlace(lambda: self.now_ms)
        self.place.world.now_ms = START_MS
        self.store = MemoryStore() if store is None else store
        self.permissions = FakePermissions()
        self.policy = Policy() if policy is None else policy
        self.processes = 0
        self.deployer = self.another()

    def another(self) -> Deployer:
        """A new process; the former one may be dead."""
        self.processes += 1
        self.deployer = Deployer(
            store=self.store,
            permissions=self.permissions,
            operations=Operations(self.place, self.policy, self.permissions.sure),
            policy=self.policy,
            clock=lambda: self.now_ms,
            owner=f"process {self.processes}",
        )
        return self.deployer

    def ask(
        self, kind: Kind, version: str = "", *, replay: bool = False, canary_tenants: Sequence[str] = ()
    ) -> Release:
        tenants = list(canary_tenants)
        asked = Request(kind=kind, version=version, replay=replay, canary_tenants=tenants, by="ann")
        written = self.store.put(requested(self.store.current(), asked, self.now_ms))
        assert written is not None
        return written

    @property
    def release(self) -> Release:
        found = self.store.current()
        assert found is not None
        return found

    def turn(self, seconds: float = 1) -> None:
        """Later, one turn."""
        self.now_ms += int(seconds * 1_000)
        self.deployer.turn()

    def until(self, reached: Callable[[Release], bool]) -> Release:
        for _ in range(LONG):
            if reached(self.release):
                return self.release
            self.turn()
        raise AssertionError(f"never reached: {self.release}")

    def ended(self) -> Release:
        return self.until(lambda release: release.ended)


def steps(release: Release) -> list[Step]:
    """The steps that are over."""
    return [each.step for each in release.log]


def assert_whole(world: ReleaseWorld, *, version: str, side: str) -> None:
    """One side serves one version, the other is parked, and every event ended well."""
    world.turn()
    found = world.place.world
    other = DARK if side == LIGHT else LIGHT
    assert found.shares == {side: 100, other: 0}
    assert (found.sides[side].version, found.sides[side].parked) == (version, False), described(found)
    assert found.sides[other].parked, described(found)
    assert not found.refused
    assert badly_ended(found) == []
    assert doubled(found) == []
