"""Rollout states are deleted with their pipes, and never because of an outdated list of pipes.

Over DynamoDB Local alone: deciding needs no brokers.
"""

from collections.abc import Callable
from uuid import uuid4

import pytest

from pipelines.control.provision.rollout_activities import RolloutActivities
from pipelines.control.provision.rollout_decider import RolloutDecider
from pipelines.management.api.rollouts import Rollouts
from shared.contracts.document_items import Change, DocumentKey
from shared.contracts.documents import Pipe
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import RolloutAction, RolloutCard, RolloutPhase, RolloutState, state_key
from shared.dynamodb.activity_register import ActivityRegister
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.rollout_store import RolloutStore
from tests.contract.provision.conftest import TABLE
from tests.contract.provision.later_version import rewrite
from tests.harness.document_changes import change_of

NOW_MS = 1_000_000
PLAN = Rollout(steps=[1, 10, 100])


class Rig:
    """A pipe with a rollout, a customer's actions, and a process that decides."""

    def __init__(self, table: DocumentTable, endpoint: str) -> None:
        self.endpoint, self.tenant, self.table = endpoint, f"t{uuid4().hex[:8]}", table
        self.key, self.document = state_key(self.tenant, "p"), DocumentKey("pipe", "p")
        self.store = RolloutStore(TABLE, endpoint)
        self.decider = self.process(self.store)

    def process(self, store: RolloutStore) -> RolloutDecider:
        def register(side: str) -> ActivityRegister:
            return ActivityRegister(
                TABLE, self.endpoint, side=side, owner="p", clock=lambda: NOW_MS, monotonic=lambda: 0.0
            )

        return RolloutDecider(
            side="blue",
            store=store,
            documents=self.table,
            steps=RolloutActivities(register),
            clock=lambda: NOW_MS,
        )

    def write(self, rollout: Rollout | None = PLAN) -> None:
        pipe = Pipe(name="p", tenant=self.tenant, source="s", destination="d", rollout=rollout)
        self.table.write(self.tenant, [change_of(pipe)], by="ann", at_ms=1)

    def delete(self) -> None:
        self.table.write(self.tenant, [Change(key=self.document, document=None)], by="ann", at_ms=1)

    def ask(self, action: RolloutAction) -> None:
        found = self.table.get(self.tenant, self.document)
        assert found is not None
        Rollouts(self.store, lambda: NOW_MS).request(found, action)

    def state(self) -> RolloutState | None:
        return self.store.state(self.tenant, "p")


@pytest.fixture
def rig(table: DocumentTable, endpoint: str) -> Rig:
    return Rig(table, endpoint)


@pytest.mark.parametrize(
    ("action", "phase"),
    [(RolloutAction.PAUSE, RolloutPhase.PAUSED), (RolloutAction.FINISH, RolloutPhase.DONE)],
)
def test_a_request_stands_while_the_provisioner_has_not_read_the_pipe_yet(
    rig: Rig, action: RolloutAction, phase: RolloutPhase
) -> None:
    rig.write()
    rig.ask(action)
    for _ in range(3):
        rig.decider.decide({})
    found = rig.state()
    assert found is not None and found.state is phase


def test_a_request_stands_while_the_pipe_cannot_be_read(rig: Rig, endpoint: str) -> None:
    rig.write()
    rig.ask(RolloutAction.PAUSE)
    rewrite(endpoint, rig.tenant, rig.document)
    for _ in range(3):
        rig.decider.decide({})
    assert rig.state() is not None


@pytest.mark.parametrize("end", [Rig.delete, lambda rig: rig.write(None)])
def test_the_state_of_a_pipe_that_is_gone_or_has_no_rollout_any_more_is_deleted(
    rig: Rig, end: Callable[[Rig], None]
) -> None:
    rig.write()
    rig.ask(RolloutAction.PAUSE)
    rig.store.put_card(rig.key, "blue", RolloutCard(since_ms=NOW_MS, at_ms=NOW_MS))
    end(rig)
    rig.decider.decide({})
    assert rig.state() is not None, "the list of pipes may be a little older than the state"
    rig.decider.decide({})
    assert (rig.state(), dict(rig.store.cards())) == (None, {})


class SlowStore(RolloutStore):
    """A customer recreates the pipe, and opens it, between the look at the table and the deletion."""

    rig: Rig

    def forget(self, key: str, state: RolloutState) -> None:
        self.rig.write()
        self.rig.ask(RolloutAction.FINISH)
        super().forget(key, state)


def test_a_state_that_was_written_since_it_was_read_is_not_deleted(rig: Rig) -> None:
    rig.write()
    rig.ask(RolloutAction.PAUSE)
    rig.delete()
    store = SlowStore(TABLE, rig.endpoint)
    store.rig = rig
    decider = rig.process(store)
    for _ in range(2):
        decider.decide({})
    found = rig.state()
    assert found is not None and found.state is RolloutPhase.DONE
