"""Actors with crashes, lost leases and wrong clocks never do together what the table forbids."""

from typing import ClassVar
from uuid import uuid4

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from shared.contracts.diamond.activities import ACTORS, Action, Activity, Actor
from shared.contracts.diamond.permission import RULES, reasons_to_wait
from shared.contracts.diamond.stability import Stability
from shared.dynamodb.activity_register import LostError
from shared.dynamodb.client import cancellations, dynamodb_client
from shared.dynamodb.document_rows import row_key
from shared.dynamodb.document_table import DocumentTable
from tests.contract.dynamodb.actors import (
    HEALTHS,
    LEASE,
    MOST_SKEW,
    STABLE,
    TABLE,
    WALL_SKEWS,
    Process,
    run_histories,
)


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
        """Other activities that are truly under way: their holders are alive and sure of them."""
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
        """Replace the process by one without knowledge of it; the former one may still write, late."""
        self.gone.append(self.processes[actor])
        self.processes[actor] = Process(self, actor)

    @rule(seconds=st.sampled_from([4.0, 7.0, 12.0]))
    def wait(self, seconds: float) -> None:
        for process in self.processes.values():
            process.register.look()
        self.time += seconds

    @rule(actor=st.sampled_from(list(Actor)), skew=st.floats(-MOST_SKEW, MOST_SKEW))
    def set_clock(self, actor: Actor, skew: float) -> None:
        """Set a wall clock forward or back."""
        self.skews[actor] = skew

    @rule(health=st.sampled_from(HEALTHS))
    def turn(self, health: Stability) -> None:
        self.health = health

    def teardown(self) -> None:
        """On a stable side without active processes every wish begins, and no dead owner writes late."""
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
        for action in (Action.STEP_BACK, Action.SCALE_OUT):  # a beginning deletes expired activities
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
    """Whether a write that is guarded by a process's activity succeeds."""
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
    run_histories(Diamond, examples)


def test_no_two_hands_are_on_one_side_and_every_wish_that_is_allowed_happens(dynamodb_local: str) -> None:
    _run(dynamodb_local, 4)


@pytest.mark.proof
def test_no_two_hands_are_on_one_side_in_very_many_histories(dynamodb_local: str) -> None:
    _run(dynamodb_local, 400)
