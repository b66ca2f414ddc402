"""A deployer's release among rivals on both sides, with crashes, wrong clocks and slow calls."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple
from uuid import uuid4

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from msgspec.structs import replace

from pipelines.control.deploy.backend import FencedError
from pipelines.control.deploy.deployer import Deployer, health_of
from pipelines.control.deploy.operations import Operations
from pipelines.control.deploy.permissions import SidePermissions
from shared.contracts.control_table import RELEASES
from shared.contracts.diamond.activities import ACTORS, Action, Activity, Actor
from shared.contracts.diamond.permission import reasons_to_wait
from shared.contracts.diamond.stability import Stability
from shared.contracts.release_requests import Request, RequestRefusedError
from shared.contracts.release_steps import Kind
from shared.contracts.releases import CURRENT, Release
from shared.dynamodb.activity_register import ActivityRegister
from shared.dynamodb.client import dynamodb_client
from shared.dynamodb.document_rows import row_key
from shared.dynamodb.release_store import ReleaseStore
from tests.contract.deploy.rivals import RIVALS, CheckedRegister, SideOf
from tests.contract.dynamodb.actors import (
    HEALTHS,
    LEASE,
    MOST_SKEW,
    STABLE,
    TABLE,
    WALL_SKEWS,
    Process,
    wall_ms,
)
from tests.harness.fake_world import DARK, LIGHT, Bad, badly_ended, doubled
from tests.harness.release_world import QUICK, START_MS
from tests.harness.watched_place import WatchedPlace

SIDES = (LIGHT, DARK)
WANTED = [action for action in Action if ACTORS[action] is not Actor.DEPLOYER]
POLICY = replace(QUICK, release_wait_seconds=10_000)
TURNS = 3_000


class HealthyPlace(WatchedPlace):
    """A place with sides that are as stable as the machine says, and with calls that take time."""

    def __init__(self, diamond: "ReleaseDiamond") -> None:
        readers = {name: side.reader for name, side in diamond.sides.items()}
        super().__init__(diamond.true_ms, readers, diamond.store.current)
        self.diamond, self.pass_by = diamond, lambda: diamond.take_time("place")

    def stability(self, side: str, since: int = 0) -> Stability:
        return self.diamond.sides[side].health


class Slow(NamedTuple):
    """A call that takes time, and the action that a rival wants meanwhile."""

    what: Literal["place", "table"]
    calls: int
    """Number of the call from now on; 1 is the next."""

    seconds: float
    side: str
    action: Action


class ReleaseDiamond(RuleBasedStateMachine):
    """Two sides, a deployer, and rivals on each."""

    url: ClassVar[str | None]

    def __init__(self) -> None:
        super().__init__()
        self.time, self.skews = 0.0, dict(WALL_SKEWS)
        self.slow: Slow | None = None
        self.sides = {name: SideOf(self, name) for name in SIDES}
        self.store = ReleaseStore(TABLE, self.url)
        self.place = HealthyPlace(self)
        dynamodb_client(self.url).delete_item(TableName=TABLE, Key=row_key(RELEASES, CURRENT))
        self.stale: list[tuple[Release, Sequence[dict[str, Any]]]] = []
        self.permissions, self.deployer = self._process()

    def _process(self) -> tuple[SidePermissions, Deployer]:
        owner = f"deploy-{uuid4().hex[:6]}"
        registers = {name: self._register(side, owner) for name, side in self.sides.items()}
        permissions = SidePermissions(
            registers, lambda release, side: health_of(self.place, release, side), self._now, LEASE
        )
        deployer = Deployer(
            store=self.store,
            permissions=permissions,
            operations=Operations(self.place, POLICY, permissions.sure),
            policy=POLICY,
            clock=self.true_ms,
            owner=owner,
        )
        return permissions, deployer

    def _register(self, side: SideOf, owner: str) -> ActivityRegister:
        made = CheckedRegister(
            TABLE, self.url, side=side.side, owner=owner,
            clock=lambda: wall_ms(Actor.DEPLOYER, self.time, self.skews), monotonic=self._now,
            pause=lambda _: None,
        )  # fmt: skip
        made.side_of = side
        return made

    def true_ms(self) -> int:
        return START_MS + int(self.time * 1_000)

    def _now(self) -> float:
        """The deployer's clock runs fast."""
        return self.time * 1.02

    def take_time(self, what: str) -> None:
        """Let time pass within a slow call. During a call to the table the deployer is locked."""
        if self.slow is None or self.slow.what != what:
            return
        if self.slow.calls > 1:
            self.slow = self.slow._replace(calls=self.slow.calls - 1)
            return
        found, self.slow = self.slow, None
        self.wait(found.seconds)
        if what == "place":
            self.begin(found.side, found.action)

    def _held_by_deployer(self, name: str) -> list[Activity]:
        release = self.store.current()
        if release is None or not self.permissions.sure(release):
            return []
        held = self.permissions.held(name)
        return [] if held is None else [held]

    @rule(kind=st.sampled_from(list(Kind)), version=st.sampled_from(["2.0", "3.0", Bad.DROPS, Bad.SLOWER]))
    def ask(self, kind: Kind, version: str) -> None:
        asked = Request(kind=kind, version=version if kind is Kind.DEPLOY else "", by="ann")
        try:
            self.store.request(asked, self.true_ms)
        except RequestRefusedError as error:
            assert str(error)

    @rule(turns=st.integers(1, 6))
    def turn(self, turns: int) -> None:
        for _ in range(turns):
            self.deployer.turn()

    @rule()
    def beat_deployer(self) -> None:
        self.permissions.beat()

    @rule()
    def crash_deployer(self) -> None:
        release = self.store.current()
        if release is not None and not release.ended:
            self.stale.append((release, self.permissions.guards()))
        self.permissions, self.deployer = self._process()

    @rule(name=st.sampled_from(SIDES), action=st.sampled_from(WANTED))
    def begin(self, name: str, action: Action) -> None:
        side = self.sides[name]
        process = side.processes[ACTORS[action]]
        if process.held is not None or process.wish not in (None, action):
            return
        others = [*side.under_way(process), *self._held_by_deployer(name)]
        if isinstance(process.begin(action), Activity):
            assert not reasons_to_wait(action, others, side.health), (action, others)

    @rule(name=st.sampled_from(SIDES), actor=st.sampled_from(RIVALS))
    def end(self, name: str, actor: Actor) -> None:
        _end(self.sides[name].processes[actor])

    @rule(name=st.sampled_from(SIDES), actor=st.sampled_from(RIVALS))
    def crash(self, name: str, actor: Actor) -> None:
        side = self.sides[name]
        side.gone.append(side.processes[actor])
        side.processes[actor] = Process(side, actor)

    @rule(seconds=st.sampled_from([2.0, 4.0, 12.0, 70.0]))
    def wait(self, seconds: float) -> None:
        for side in self.sides.values():
            side.reader.look()
            for process in side.processes.values():
                process.register.look()
        self.time += seconds

    @rule(
        what=st.sampled_from(["place", "table"]),
        calls=st.integers(1, 4),
        seconds=st.sampled_from([4.0, 12.0]),
        side=st.sampled_from(SIDES),
        action=st.sampled_from(WANTED),
    )
    def be_slow(
        self, what: Literal["place", "table"], calls: int, seconds: float, side: str, action: Action
    ) -> None:
        self.slow = Slow(what, calls, seconds, side, action)

    @rule(actor=st.sampled_from(list(Actor)), skew=st.floats(-MOST_SKEW, MOST_SKEW))
    def set_clock(self, actor: Actor, skew: float) -> None:
        self.skews[actor] = skew

    @rule(name=st.sampled_from(SIDES), health=st.sampled_from(HEALTHS))
    def fall_ill(self, name: str, health: Stability) -> None:
        self.sides[name].health = health

    @rule(name=st.sampled_from(SIDES), patched=st.booleans())
    def patch(self, name: str, patched: bool) -> None:
        self.place.world.sides[name].patched = patched

    def teardown(self) -> None:
        """The release must end in a whole state once both sides are stable and the rivals have ended."""
        self.slow = None
        for name, side in self.sides.items():
            self.patch(name, patched=False)
            side.health = STABLE
            for process in side.processes.values():
                _end(process)
        for _ in range(TURNS):
            release = self.store.current()
            if release is None or release.ended:
                break
            self.time += 2.0
            self.permissions.beat()
            self.deployer.turn()
        self._assert_whole()
        self._assert_no_late_write()

    def _assert_whole(self) -> None:
        release, world = self.store.current(), self.place.world
        assert release is None or release.ended, release
        for name, share in world.shares.items():
            assert world.sides[name].parked == (not share), (release, world)
        assert not world.refused
        assert doubled(world) == []
        self.time += 20
        self.place.weights()
        assert [each for each in badly_ended(world) if "not processed" in each] == []

    def _assert_no_late_write(self) -> None:
        self._delete_what_is_over()
        for stale, guards in self.stale:
            assert self.store.put(stale, guards) is None
            current = self.store.current()
            if guards and current is not None:
                assert self.store.put(current, guards) is None, "only its guards can refuse it"
                assert self.store.put(current) is not None
            if stale.term < self.place.world.fence:
                with pytest.raises(FencedError):
                    self.place.set_weights({LIGHT: 50, DARK: 50}, fence=stale.term)

    def _delete_what_is_over(self) -> None:
        """Let another actor begin on each side, which deletes expired activities."""
        for side in self.sides.values():
            side.processes[Actor.AUTOSCALER].register.look()
        self.time += 2 * LEASE
        for side in self.sides.values():
            assert isinstance(side.processes[Actor.AUTOSCALER].begin(Action.SCALE_OUT), Activity)


def _end(process: Process) -> None:
    if process.held is not None:
        process.register.end(process.held)
        process.held = None
