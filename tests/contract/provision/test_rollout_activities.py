"""A step up of a rollout and a release keep out of each other's way, whoever begins and whoever dies.

Over DynamoDB Local alone: who decides needs no brokers.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from pipelines.control.provision.meter_client import MeterClient
from pipelines.control.provision.rollout_activities import RolloutActivities
from pipelines.control.provision.rollout_decider import RolloutDecider
from pipelines.control.provision.rollout_worker import RolloutWorker
from shared.contracts.control_table import LEASES
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.documents import Pipe
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import DECIDER, RolloutCard, RolloutPhase, RolloutState, state_key
from shared.dynamodb.activity_reader import ActivityReader
from shared.dynamodb.activity_register import ActivityRegister, Waits
from shared.dynamodb.client import StoreError
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.lease import Lease
from shared.dynamodb.renewed_lease import RenewedLease
from shared.dynamodb.rollout_store import RolloutStore
from tests.contract.provision.conftest import TABLE
from tests.harness.scripted_observe import scripted_observe
from tests.harness.waiting import eventually

PLAN = Rollout(steps=[1, 10, 100])
STABLE = Stability(stable=True)
LEASE = 10.0
SIDES = ("blue", "green")
WAIT_SECONDS = 60.0
WORKED_ON = "side green is being worked on by its operator"


class WatchedStore(RolloutStore):
    """Calls `before` before it writes a state."""

    before: Callable[[], None] = staticmethod(lambda: None)

    def put(self, key: str, state: RolloutState, side: str = "") -> RolloutState | None:
        self.before()
        return super().put(key, state, side)

    def put_guarded(
        self, key: str, state: RolloutState, side: str, guards: Sequence[dict[str, Any]]
    ) -> RolloutState | None:
        self.before()
        return super().put_guarded(key, state, side, guards)


class Process:
    """A provisioner of side blue that decides."""

    def __init__(self, rig: "Rig") -> None:
        self._rig, self.store = rig, WatchedStore(TABLE, rig.endpoint)
        self.steps = RolloutActivities(partial(rig.register, f"provision-{uuid4().hex[:8]}"), LEASE)
        self.decider = RolloutDecider(
            side="blue",
            store=self.store,
            documents=DocumentTable(TABLE, rig.endpoint),
            steps=self.steps,
            clock=rig.clock,
        )

    def turn(self) -> None:
        """One look."""
        self.decider.let_go()
        self.decider.decide(self._rig.pipes)


class Rig:
    """Pipes of one tenant on two sides, with meters that say what the test wants; time is the test's."""

    def __init__(self, endpoint: str, pipes: int = 1) -> None:
        self.endpoint, self.seconds = endpoint, 0.0
        self.tenant = f"t{uuid4().hex[:8]}"
        made = [
            Pipe(name=f"p{n}", tenant=self.tenant, source="s", destination="d", rollout=PLAN)
            for n in range(pipes)
        ]
        self.pipes = {state_key(self.tenant, pipe.name): pipe for pipe in made}
        self.store = RolloutStore(TABLE, endpoint)
        self.registers = {side: self.register(f"deploy-{self.tenant}", side) for side in SIDES}
        """The deployer's."""

    def clock(self) -> int:
        return 1_000_000 + int(1_000 * self.seconds)

    def register(self, owner: str, side: str) -> ActivityRegister:
        return ActivityRegister(
            TABLE,
            self.endpoint,
            side=side,
            owner=owner,
            clock=self.clock,
            monotonic=lambda: self.seconds,
            pause=lambda _: None,
        )

    def due(self, good: int = 1_000) -> None:
        """A step's time passes, and both sides' meters say how it did, and that nothing is in the way."""
        self.seconds += PLAN.every_ms / 1_000
        for key, state in self.store.states().items():
            for side in SIDES:
                card = RolloutCard(since_ms=state.since_ms, at_ms=self.clock(), events=1_000, good=good)
                self.store.put_card(key, side, card)

    def begins(
        self, side: str, action: Action = Action.STEP_FORWARD, lease_seconds: float = LEASE
    ) -> Activity | Waits:
        """A release wants to go on."""
        return self.registers[side].begin(action, "release 1.4.0", STABLE, lease_seconds=lease_seconds)

    def acting(self) -> list[str]:
        """The activities under way on both sides."""
        return [str(each) for side in SIDES for each in self.registers[side].look().activities]

    def waiting(self) -> list[str]:
        """Who waits on both sides."""
        return [str(each) for side in SIDES for each in self.registers[side].look().wishes]

    def shares(self) -> list[float]:
        """Of all pipes."""
        return [state.share for _, state in sorted(self.store.states().items())]

    def state(self) -> RolloutState:
        """Of the only pipe."""
        (state,) = self.store.states().values()
        return state

    def is_at(self, phase: RolloutPhase, share: float, reason: str = "") -> bool:
        """Whether the only pipe is there, for a reason that has these words."""
        found = list(self.store.states().values())
        return [(each.state, each.share, reason in each.reason) for each in found] == [(phase, share, True)]


@pytest.fixture
def rig(endpoint: str, table: DocumentTable) -> Rig:
    return Rig(endpoint)


def begun(rig: Rig) -> Process:
    """A process that has begun the rollouts; their next steps are due."""
    process = Process(rig)
    process.turn()
    rig.due()
    return process


def test_while_a_step_is_written_both_sides_registers_name_it_and_afterwards_they_are_empty(rig: Rig) -> None:
    process, seen = begun(rig), list[str]()
    process.store.before = lambda: seen.extend(rig.acting())
    process.turn()
    assert seen == [f"provisioner: ramp step (pipe {rig.tenant}/p0 to 10 %)"] * 2
    assert (rig.acting(), rig.waiting(), rig.shares()) == ([], [], [10])


def test_many_steps_of_a_look_are_one_activity_a_side(endpoint: str, table: DocumentTable) -> None:
    rig = Rig(endpoint, pipes=3)
    process, seen = begun(rig), list[list[str]]()
    process.store.before = lambda: seen.append(rig.acting())
    process.turn()
    assert seen == [[f"provisioner: ramp step (3 pipes, the first is {rig.tenant}/p0 to 10 %)"] * 2] * 3
    assert rig.shares() == [10] * 3
    assert all(rig.registers[side].look().serial == 1 for side in SIDES)


def test_a_step_waits_for_a_release_that_began_first_says_so_and_leaves_no_wish(rig: Rig) -> None:
    process = begun(rig)
    release = rig.begins("green")
    assert isinstance(release, Activity)
    process.turn()
    assert (rig.state().state, rig.state().share) == (RolloutPhase.WAITING, 1)
    assert rig.state().reason == f"{WORKED_ON}; 2,000 events, 100 % good, 0 % dead letters"
    assert rig.acting() == ["deployer: step forward (release 1.4.0)"], "nothing is kept of the other side"
    assert rig.waiting() == []
    both = rig.begins("blue")
    assert isinstance(both, Activity), "a release takes the other side while a step waits"
    rig.registers["blue"].end(both)
    rig.registers["green"].end(release)
    process.turn()
    assert (rig.shares(), rig.acting()) == ([10], [])


def test_a_release_that_begins_while_a_step_is_written_waits_until_it_is_over(rig: Rig) -> None:
    process, found = begun(rig), list[Activity | Waits]()
    process.store.before = lambda: found.extend(rig.begins(side) for side in SIDES)
    process.turn()
    waits = Waits((f"provisioner: ramp step (pipe {rig.tenant}/p0 to 10 %) is under way",))
    assert (found, rig.shares()) == ([waits, waits], [10])
    assert all(isinstance(rig.begins(side), Activity) for side in SIDES)


def test_a_step_lets_a_release_go_first_that_had_to_wait_for_another(rig: Rig) -> None:
    process, found = begun(rig), list[Activity | Waits]()
    process.store.before = lambda: found.extend(rig.begins(side) for side in SIDES)
    process.turn()
    rig.due()
    process.store.before = lambda: None
    process.turn()
    assert rig.shares() == [10], "the deployer has asked earlier"
    for side in SIDES:
        release = rig.begins(side)
        assert isinstance(release, Activity)
        rig.registers[side].end(release)
    process.turn()
    assert rig.shares() == [100]


def test_a_step_back_waits_for_nothing_and_is_no_activity(rig: Rig) -> None:
    process = begun(rig)
    assert all(isinstance(rig.begins(side), Activity) for side in SIDES)
    rig.due(good=0)
    process.turn()
    assert (rig.state().state, rig.state().share) == (RolloutPhase.STOPPED, 0)


def test_a_rollback_begins_while_a_step_is_written(rig: Rig) -> None:
    process, found = begun(rig), list[Activity | Waits]()
    process.store.before = lambda: found.append(rig.begins("green", Action.STEP_BACK))
    process.turn()
    (back,) = found
    assert isinstance(back, Activity)
    assert rig.shares() == [10], "what had begun is written"


def test_steps_that_take_long_to_write_are_kept_alive(rig: Rig) -> None:
    process, found = begun(rig), list[Activity | Waits]()

    def slowly() -> None:
        for _ in range(4):
            found.append(rig.begins("green"))
            rig.seconds += 0.9 * LEASE
            process.steps.beat()

    process.store.before = slowly
    process.turn()
    assert [type(each) for each in found] == [Waits] * 4
    assert (rig.shares(), rig.acting()) == ([10], [])


def suspended(process: Process, going_on: threading.Event) -> threading.Thread:
    """A process that stands still within a step, as its activity is begun and its state is not written."""
    within = threading.Event()

    def stands_still() -> None:
        within.set()
        going_on.wait(WAIT_SECONDS)

    process.store.before = stands_still
    running = threading.Thread(target=process.turn, daemon=True)
    running.start()
    assert within.wait(WAIT_SECONDS), "it writes no step"
    return running


def test_after_one_that_died_within_a_step_the_next_goes_on_and_the_step_is_taken_once(rig: Rig) -> None:
    first, going_on = begun(rig), threading.Event()
    running = suspended(first, going_on)
    dead = rig.acting()
    assert len(dead) == 2
    second = Process(rig)
    second.turn()
    assert (rig.state().step, rig.state().share, rig.acting()) == (2, 10, dead)
    revision = rig.state().revision
    assert isinstance(rig.begins("green"), Waits), "the dead one's activity is not over yet"
    going_on.set()
    running.join(WAIT_SECONDS)
    assert (rig.state().step, rig.state().revision) == (2, revision), "the step is taken once"


def test_a_dead_ones_step_is_over_after_its_lease_and_its_late_write_fails(rig: Rig) -> None:
    first, going_on = begun(rig), threading.Event()
    running = suspended(first, going_on)
    before = rig.state()
    assert isinstance(rig.begins("green"), Waits)
    rig.seconds += 1.2 * LEASE
    release = rig.begins("green")
    assert isinstance(release, Activity), "its lease has run out"
    going_on.set()
    running.join(WAIT_SECONDS)
    assert rig.state() == before, "a late write during a release"
    second = Process(rig)
    second.turn()
    assert rig.state().reason.startswith(WORKED_ON)
    rig.registers["green"].end(release)
    rig.seconds += 1.2 * LEASE
    second.turn()
    assert (rig.shares(), rig.acting()) == ([10], [])


@contextmanager
def working(rig: Rig, observe_url: str) -> Iterator[RolloutStore]:
    """A worker of side blue, with a thread that moves the pipes on at the test's time; yields its states."""
    process, monotonic = Process(rig), lambda: rig.seconds
    keys = {TENANT: LEASES, DOCUMENT: DECIDER}
    lease = Lease(TABLE, rig.endpoint, keys=keys, owner="w", seconds=LEASE, monotonic=monotonic)
    worker = RolloutWorker(
        side="blue",
        store=rig.store,
        decider=process.decider,
        meter=MeterClient(observe_url),
        activities=ActivityReader(TABLE, rig.endpoint, side="blue", clock=rig.clock, monotonic=monotonic),
        lease=RenewedLease(
            lease, renew_seconds=0.1, work_seconds=WAIT_SECONDS, monotonic=monotonic, also=process.steps.beat
        ),
        clock=rig.clock,
        seconds=0.05,
    )
    worker.want(list(rig.pipes.values()))
    worker.start()
    try:
        yield rig.store
    finally:
        worker.stop()


def test_a_worker_waits_while_a_release_is_under_way_and_goes_up_after_it(rig: Rig) -> None:
    with scripted_observe() as observe, working(rig, observe.url):
        observe.say(1_000)
        eventually(lambda: rig.is_at(RolloutPhase.RISING, 1, "1,000 events"), WAIT_SECONDS, "it began")
        release = rig.begins("blue", lease_seconds=PLAN.every_ms)
        assert isinstance(release, Activity)
        rig.seconds += 1 + PLAN.every_ms / 1_000
        said = "side blue is being worked on by its operator"
        eventually(lambda: rig.is_at(RolloutPhase.WAITING, 1, said), WAIT_SECONDS, "it waits for the release")
        rig.registers["blue"].end(release)
        eventually(lambda: rig.is_at(RolloutPhase.RISING, 10), WAIT_SECONDS, "it goes up")
        eventually(lambda: rig.acting() == [], WAIT_SECONDS, "the step is over")


def test_a_worker_ends_what_the_table_did_not_let_it_end(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    ends, refused = ActivityRegister.end, list[Activity]()

    def end(register: ActivityRegister, held: Activity) -> None:
        if not refused:
            refused.append(held)
            raise StoreError("the table does not answer")
        ends(register, held)

    monkeypatch.setattr(ActivityRegister, "end", end)
    with scripted_observe() as observe, working(rig, observe.url):
        observe.say(1_000)
        eventually(lambda: rig.is_at(RolloutPhase.RISING, 1, "1,000 events"), WAIT_SECONDS, "it began")
        rig.seconds += 1 + PLAN.every_ms / 1_000
        eventually(lambda: rig.is_at(RolloutPhase.RISING, 10), WAIT_SECONDS, "it goes up")
        eventually(lambda: refused and rig.acting() == [], WAIT_SECONDS, "the step is over")
