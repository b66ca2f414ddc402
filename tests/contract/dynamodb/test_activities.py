"""Actors that crash, lose leases and have clocks of their own never do together what the table forbids."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ClassVar
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from shared.contracts.diamond.activities import ACTORS, Action, Activity, Actor
from shared.contracts.diamond.permission import RULES, reasons_to_wait
from shared.contracts.diamond.stability import SILENT, Stability
from shared.dynamodb.activity_register import ActivityRegister, LostError, Waits
from shared.dynamodb.client import StoreError, cancellations, dynamodb_client
from shared.dynamodb.document_rows import row_key
from shared.dynamodb.document_table import DocumentTable
from shared.runtime.clock import Clock, wall_clock

TABLE = "activities"
LEASE = 10.0
STABLE = Stability(stable=True)
HEALTHS = (*[STABLE] * 4, Stability(stable=False, reasons=("burn",)), SILENT)
RATES = {Actor.PROVISIONER: 0.98, Actor.DEPLOYER: 1.02, Actor.AUTOSCALER: 1.0, Actor.MAINTENANCE: 0.97}
"""How fast each actor's clock runs."""

WALL_MS = 1_800_000_000_000
MOST_SKEW = 125.0
"""Seconds that a clock of the day may be wrong: two differ by up to 250, and a register bears 300."""

WALL_SKEWS = {
    Actor.PROVISIONER: MOST_SKEW,
    Actor.DEPLOYER: -MOST_SKEW,
    Actor.AUTOSCALER: -MOST_SKEW,
    Actor.MAINTENANCE: MOST_SKEW,
}
"""How wrong each actor's clock of the day is at first, seconds."""

WALL_RATES = {
    Actor.PROVISIONER: 1.002,
    Actor.DEPLOYER: 0.998,
    Actor.AUTOSCALER: 1.0,
    Actor.MAINTENANCE: 0.997,
}
"""How fast it runs. It is set right now and then, so it is not as wrong as one that only counts seconds."""


def wall_ms(actor: Actor, seconds: float, skews: Mapping[Actor, float]) -> int:
    """The time on an actor's clock of the day after so many true seconds, epoch milliseconds."""
    return WALL_MS + int(1_000 * (seconds * WALL_RATES[actor] + skews[actor]))


class Process:
    """An actor's process: its register, what it holds, and when it last beat, by its own clock."""

    def __init__(self, diamond: "Diamond", actor: Actor) -> None:
        self.name = f"{actor}-{uuid4().hex[:6]}"
        self.offset = len(diamond.gone) * 1_000.0
        self.diamond, self.actor = diamond, actor
        self.register = ActivityRegister(
            TABLE,
            diamond.url,
            side=diamond.side,
            owner=self.name,
            clock=lambda: wall_ms(actor, diamond.time, diamond.skews),
            monotonic=self.now,
            pause=lambda _: None,
        )
        self.held: Activity | None = None
        self.wish: Action | None = None
        self.beat_at = 0.0

    def now(self) -> float:
        return self.offset + self.diamond.time * RATES[self.actor]

    @property
    def sure(self) -> bool:
        """Whether it holds its activity as far as it can know: one that cannot beat stops by itself."""
        return self.held is not None and self.now() - self.beat_at <= LEASE

    def begin(self, action: Action) -> Activity | Waits:
        """As the actors do: a ramp step leaves no wish."""
        wishes = action is not Action.ROLLOUT_STEP
        begin = self.register.begin if wishes else self.register.begin_without_wish
        found = begin(action, "test", self.diamond.health, lease_seconds=LEASE)
        if isinstance(found, Activity):
            self.held, self.beat_at, self.wish = found, self.now(), None
        elif wishes:
            self.wish = action
        return found


class Diamond(RuleBasedStateMachine):
    """The actors of one side."""

    url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.side, self.time, self.health = f"side-{uuid4().hex[:8]}", 0.0, STABLE
        self.gone: list[Process] = []
        self.skews = dict(WALL_SKEWS)
        self.processes = {actor: Process(self, actor) for actor in Actor}

    def _others(self, process: Process) -> list[Activity]:
        """The activities truly under way beside it: held by processes that are alive and sure of it."""
        return [
            each.held
            for each in self.processes.values()
            if each is not process and each.sure and each.held is not None
        ]

    @rule(action=st.sampled_from(list(Action)))
    def begin(self, action: Action) -> None:
        process = self.processes[ACTORS[action]]
        if process.held is not None or process.wish not in (None, action):
            return
        others = self._others(process)
        found = process.begin(action)
        if isinstance(found, Activity):
            assert not reasons_to_wait(action, others, self.health), (action, others)
        else:
            assert found.reasons
            assert RULES[action].waits_for or RULES[action].needs_stable

    @rule(actor=st.sampled_from(list(Actor)))
    def beat(self, actor: Actor) -> None:
        process = self.processes[actor]
        if process.held is None:
            return
        sure = process.sure
        try:
            process.held = process.register.renew(process.held, phase="further")
            process.beat_at = process.now()
        except LostError:
            assert not sure, "taken from an owner that had beaten in time"
            process.held = None

    @rule(actor=st.sampled_from(list(Actor)))
    def end(self, actor: Actor) -> None:
        process = self.processes[actor]
        if process.held is not None:
            process.register.end(process.held)
            process.held = None

    @rule(actor=st.sampled_from(list(Actor)))
    def crash(self, actor: Actor) -> None:
        """Another process comes in its place and knows nothing of it; this one may still write, late."""
        self.gone.append(self.processes[actor])
        self.processes[actor] = Process(self, actor)

    @rule(seconds=st.sampled_from([4.0, 7.0, 12.0]))
    def wait(self, seconds: float) -> None:
        for process in self.processes.values():
            process.register.look()
        self.time += seconds

    @rule(actor=st.sampled_from(list(Actor)), skew=st.floats(-MOST_SKEW, MOST_SKEW))
    def set_clock(self, actor: Actor, skew: float) -> None:
        """A clock of the day is set forward or back."""
        self.skews[actor] = skew

    @rule(health=st.sampled_from(HEALTHS))
    def turn(self, health: Stability) -> None:
        self.health = health

    def teardown(self) -> None:
        """Once the side is stable and no process acts, every wish begins; no dead owner writes late."""
        self.health = STABLE
        for process in self.processes.values():
            if process.held is not None:
                process.register.end(process.held)
                process.held = None
        waiting = [process for process in self.processes.values() if process.wish is not None]
        for _ in range(4 * len(waiting) + 4):
            for process in [each for each in waiting if each.wish is not None]:
                assert process.wish is not None
                if isinstance(found := process.begin(process.wish), Activity):
                    process.register.end(found)
                    process.held = None
            self.time += LEASE / 3
        assert [process.wish for process in waiting if process.wish is not None] == []
        self._no_late_writes()

    def _no_late_writes(self) -> None:
        last = self.processes[Actor.DEPLOYER]
        last.register.look()
        self.time += 2 * LEASE
        for action in (Action.STEP_BACK, Action.SCALE_OUT):  # a beginning deletes what is over
            process = self.processes[ACTORS[action]]
            process.register.look()
            self.time += 2 * LEASE
            process.begin(action)
        for process in self.gone:
            if process.held is not None:
                with pytest.raises(LostError):
                    process.register.renew(process.held)
                assert not _written(self.url, process)


def _written(url: str, process: Process) -> bool:
    """Whether a write that is guarded by what a process holds goes through."""
    assert process.held is not None
    client = dynamodb_client(url)
    put = {"Put": {"TableName": TABLE, "Item": row_key("late", process.name)}}
    try:
        client.transact_write_items(TransactItems=[put, process.register.guard(process.held)])
    except client.exceptions.TransactionCanceledException as error:
        assert "ConditionalCheckFailed" in cancellations(error)
        return False
    return True


def _run(url: str, examples: int) -> None:
    DocumentTable(TABLE, url).ensure()
    Diamond.url = url
    run_state_machine_as_test(
        Diamond,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_no_two_hands_are_on_one_side_and_every_wish_that_is_allowed_happens(dynamodb_local: str) -> None:
    _run(dynamodb_local, 4)


@pytest.mark.proof
def test_no_two_hands_are_on_one_side_in_very_many_histories(dynamodb_local: str) -> None:
    _run(dynamodb_local, 400)


def _register(
    url: str,
    side: str,
    owner: str,
    clock: Clock = wall_clock,
    monotonic: Callable[[], float] = time.monotonic,
) -> ActivityRegister:
    return ActivityRegister(TABLE, url, side=side, owner=owner, clock=clock, monotonic=monotonic)


def test_an_owner_that_beats_in_time_keeps_its_activity_and_a_silent_one_loses_it(
    dynamodb_local: str,
) -> None:
    DocumentTable(TABLE, dynamodb_local).ensure()
    side, now = f"side-{uuid4().hex[:8]}", 0.0
    owner, other = (
        _register(dynamodb_local, side, name, lambda: 0, lambda: now) for name in ("owner", "other")
    )
    held = owner.begin(Action.ROLLOUT_STEP, "a pipe", STABLE, lease_seconds=LEASE)
    assert isinstance(held, Activity)
    for _ in range(3):
        assert isinstance(other.begin(Action.MAINTAIN, "a patch", STABLE), Waits)
        now += LEASE * 0.95
        assert isinstance(other.begin(Action.MAINTAIN, "a patch", STABLE), Waits)
        held = owner.renew(held)
    assert isinstance(other.begin(Action.MAINTAIN, "a patch", STABLE), Waits)
    now += LEASE * 1.2
    assert isinstance(other.begin(Action.MAINTAIN, "a patch", STABLE), Activity)
    with pytest.raises(LostError, match="was given up"):
        owner.renew(held)
    with pytest.raises(LostError, match="was given up"):
        owner.advance(held, Action.ROLLOUT_STEP, "50 %", STABLE)
    owner.end(held)  # changes nothing
    assert [each.owner for each in owner.look().activities] == ["other"]


@pytest.mark.parametrize("ahead", [-2 * MOST_SKEW, 2 * MOST_SKEW])
def test_an_owner_that_has_not_beaten_yet_is_not_dead_for_a_clock_that_differs(
    dynamodb_local: str, ahead: float
) -> None:
    DocumentTable(TABLE, dynamodb_local).ensure()
    side = f"side-{uuid4().hex[:8]}"
    owner, other = (
        _register(dynamodb_local, side, name, partial(wall_ms, actor, 0.0, {actor: skew}), lambda: 0.0)
        for name, actor, skew in (("owner", Actor.DEPLOYER, 0.0), ("other", Actor.MAINTENANCE, ahead))
    )
    assert isinstance(owner.begin(Action.STEP_FORWARD, "a release", STABLE, lease_seconds=LEASE), Activity)
    assert isinstance(other.begin(Action.MAINTAIN, "a patch", STABLE), Waits)


def test_what_never_beats_is_over_after_its_time_for_one_that_looks_hours_later_too(
    dynamodb_local: str,
) -> None:
    DocumentTable(TABLE, dynamodb_local).ensure()
    side, hour = f"side-{uuid4().hex[:8]}", 3_600.0
    person = _register(dynamodb_local, side, "person")
    assert isinstance(person.begin(Action.MAINTAIN, "a patch", SILENT, lease_seconds=hour), Activity)

    def later(seconds: float) -> ActivityRegister:
        return _register(dynamodb_local, side, "deployer", partial(_later, seconds))

    in_time = later(hour).begin(Action.STEP_FORWARD, "a release", STABLE)
    assert isinstance(in_time, Waits)
    assert isinstance(later(1.2 * hour).begin(Action.STEP_FORWARD, "a release", STABLE), Activity)


def test_what_goes_on_after_many_minutes_is_not_taken_for_what_never_beats(dynamodb_local: str) -> None:
    DocumentTable(TABLE, dynamodb_local).ensure()
    side, now = f"side-{uuid4().hex[:8]}", 0.0
    owner, other = (
        _register(dynamodb_local, side, name, lambda: int(1_000 * now), lambda: now)
        for name in ("owner", "other")
    )
    held = owner.begin(Action.REPLACE_CODE, "a release", STABLE, lease_seconds=LEASE)
    assert isinstance(held, Activity)
    while now < 600:
        now += LEASE * 0.9
        held = owner.renew(held)
        other.look()
    held = owner.advance(held, Action.STEP_FORWARD, "half", STABLE)
    assert isinstance(held, Activity)
    assert isinstance(other.begin(Action.MAINTAIN, "a patch", STABLE), Waits)
    for _ in range(3):  # it waits: one wish, however long
        assert isinstance(owner.advance(held, Action.STEP_FORWARD, "all", SILENT), Waits)
        now += 1
    assert [each.owner for each in other.look().wishes if each.owner == "owner"] == ["owner"]


def _later(seconds: float) -> int:
    return wall_clock() + int(1_000 * seconds)


@pytest.mark.parametrize("least", [8, pytest.param(25, marks=pytest.mark.proof)])
def test_of_those_that_ask_at_the_same_moment_the_table_lets_only_some_begin(
    dynamodb_local: str, least: int
) -> None:
    DocumentTable(TABLE, dynamodb_local).ensure()
    side, lock = f"side-{uuid4().hex[:8]}", threading.Lock()
    under_way: list[Activity] = []
    begun: Counter[Action] = Counter()

    def act(action: Action) -> None:
        register = _register(dynamodb_local, side, f"{action}-{uuid4().hex[:6]}")
        rounds, until = 0, time.monotonic() + 120
        while rounds < least or action not in begun:  # others may be through before one that stood still
            assert time.monotonic() < until, f"{action} never begins"
            rounds += 1
            try:
                found = register.begin(action, "race", STABLE)
            except StoreError:  # others came in between at each try: it is asked again, as always
                continue
            if isinstance(found, Waits):
                time.sleep(0.02)
                continue
            with lock:
                conflicts = [*reasons_to_wait(action, under_way, STABLE)]
                under_way.append(found)
                begun[action] += 1
            assert not conflicts, conflicts
            with lock:
                under_way.remove(found)
            register.end(found)
        register.withdraw(action)

    racing = [Action.REPLACE_CODE, Action.REPLACE_CODE, Action.ROLLOUT_STEP, Action.SCALE_IN, Action.MAINTAIN]
    with ThreadPoolExecutor(len(racing)) as pool:
        list(pool.map(act, racing))
    assert set(begun) == set(racing), begun
    assert not under_way


def test_those_who_come_later_do_not_keep_an_older_wish_waiting_for_ever(dynamodb_local: str) -> None:
    DocumentTable(TABLE, dynamodb_local).ensure()
    side = f"side-{uuid4().hex[:8]}"
    first, second, deployer = (_register(dynamodb_local, side, name) for name in ("p1", "p2", "d"))
    step = first.begin(Action.ROLLOUT_STEP, "pipe one", STABLE)
    assert isinstance(step, Activity)
    waits = deployer.begin(Action.REPLACE_CODE, "release 2", STABLE)
    assert waits == Waits(("provisioner: ramp step (pipe one) is under way",))
    later = second.begin(Action.ROLLOUT_STEP, "pipe two", STABLE)
    assert later == Waits(("deployer: replace code (release 2) asked earlier",))
    first.end(step)
    release = deployer.begin(Action.REPLACE_CODE, "release 2", STABLE)
    assert isinstance(release, Activity)
    assert [str(each) for each in second.look().wishes] == ["provisioner: ramp step (pipe two)"]
    further = deployer.advance(release, Action.STEP_FORWARD, "canary at 10 %", STABLE)
    assert isinstance(further, Activity), "a release that is under way does not yield in its midst"
    assert further.fence > release.fence > step.fence
    deployer.end(further)
    assert isinstance(second.begin(Action.ROLLOUT_STEP, "pipe two", STABLE), Activity)
    assert second.look().wishes == []
