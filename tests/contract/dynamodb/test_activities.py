"""Beginning, keeping, losing and waiting for a side's activities, by the register that all actors share."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import uuid4

import pytest

from shared.contracts.diamond.activities import Action, Activity, Actor
from shared.contracts.diamond.permission import reasons_to_wait
from shared.contracts.diamond.stability import SILENT
from shared.dynamodb.activity_register import ActivityRegister, LostError, Waits
from shared.dynamodb.client import StoreError
from shared.dynamodb.document_table import DocumentTable
from shared.runtime.clock import Clock, wall_clock
from tests.contract.dynamodb.actors import LEASE, MOST_SKEW, STABLE, TABLE, wall_ms


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
    for _ in range(3):  # it waits, and leaves one wish however long it waits
        assert isinstance(owner.advance(held, Action.STEP_FORWARD, "all", SILENT), Waits)
        now += 1
    assert [each.owner for each in other.look().wishes if each.owner == "owner"] == ["owner"]


def _later(seconds: float) -> int:
    return wall_clock() + int(1_000 * seconds)


@pytest.mark.parametrize("least", [8, pytest.param(25, marks=pytest.mark.proof)])
def test_of_concurrent_actors_only_those_that_the_table_permits_begin(
    dynamodb_local: str, least: int
) -> None:
    DocumentTable(TABLE, dynamodb_local).ensure()
    side, lock = f"side-{uuid4().hex[:8]}", threading.Lock()
    under_way: list[Activity] = []
    begun: Counter[Action] = Counter()

    def act(action: Action) -> None:
        register = _register(dynamodb_local, side, f"{action}-{uuid4().hex[:6]}")
        rounds, until = 0, time.monotonic() + 120
        while rounds < least or action not in begun:  # others may have finished before one that was suspended
            assert time.monotonic() < until, f"{action} never begins"
            rounds += 1
            try:
                found = register.begin(action, "race", STABLE)
            except StoreError:  # others came in between at each try: it is asked again, as usual
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
