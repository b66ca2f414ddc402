"""Processes that decide on rollouts die within a step, or wait for a release, and others go on.

Over DynamoDB Local alone: deciding needs no brokers.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pipelines.control.provision.meter_client import MeterClient
from pipelines.control.provision.rollout_worker import RolloutWorker
from shared.contracts.control_table import LEASES
from shared.contracts.diamond.activities import Activity
from shared.contracts.rollouts import DECIDER, RolloutPhase
from shared.dynamodb.activity_reader import ActivityReader
from shared.dynamodb.activity_register import ActivityRegister, Waits
from shared.dynamodb.client import StoreError
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.dynamodb.lease import Lease
from shared.dynamodb.renewed_lease import RenewedLease
from shared.dynamodb.rollout_store import RolloutStore
from tests.contract.provision.rollout_rig import LEASE, PLAN, WORKED_ON, Process, Rig, begun
from tests.harness.scripted_observe import scripted_observe
from tests.harness.waiting import eventually

WAIT_SECONDS = 60.0


def suspended(process: Process, going_on: threading.Event) -> threading.Thread:
    """A process suspended within a step, after its activity began and before its state is written."""
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
    """A worker of side blue, with a thread that advances pipes on the test's clock; yields its states."""
    process, monotonic = Process(rig), lambda: rig.seconds
    keys = {TENANT: LEASES, DOCUMENT: DECIDER}
    lease = Lease(rig.table, rig.endpoint, keys=keys, owner="w", seconds=LEASE, monotonic=monotonic)
    worker = RolloutWorker(
        side="blue",
        store=rig.store,
        decider=process.decider,
        meter=MeterClient(observe_url),
        activities=ActivityReader(rig.table, rig.endpoint, side="blue", clock=rig.clock, monotonic=monotonic),
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
