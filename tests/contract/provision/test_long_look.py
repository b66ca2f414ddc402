"""A look at the table, or at rollouts, keeps its lease even if it takes longer than the lease."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest

from pipelines.control.provision.provisioner import Provisioner
from pipelines.control.provision.service import NODE, Provision
from pipelines.control.provision.settings import ProvisionSettings
from shared.contracts.control_table import LEASES
from shared.contracts.rollouts import DECIDER
from shared.dynamodb.client import StoreError, dynamodb_client
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.lease import Lease
from shared.dynamodb.rollout_store import RolloutStore
from shared.runtime.clock import wall_clock
from tests.contract.provision.conftest import TABLE
from tests.harness.kept_lease import assert_kept, lease_key
from tests.harness.waiting import eventually

LEASE_SECONDS = 0.5
WAIT_SECONDS = 60.0


@contextmanager
def provisioner(topics: str, endpoint: str) -> Iterator[ProvisionSettings]:
    """A provisioner in this process, with short leases."""
    given: dict[str, Any] = {
        "bootstrap": topics,
        "documents_table": TABLE,
        "documents_endpoint": endpoint,
        "port": 0,
        "lease_seconds": LEASE_SECONDS,
        "rollout_seconds": LEASE_SECONDS / 10,
    }
    settings, stopping = ProvisionSettings(**given), threading.Event()
    process = Provision(settings, wall_clock, time.monotonic)
    running = threading.Thread(target=process.run, args=(stopping,), daemon=True)
    running.start()
    try:
        yield settings
    finally:
        stopping.set()
        running.join(60)


def rival(endpoint: str, what: str) -> Lease:
    """The same lease in a rival process, which takes it as soon as it is free."""
    return Lease(
        TABLE,
        endpoint,
        keys={TENANT: LEASES, DOCUMENT: what},
        owner=uuid4().hex,
        seconds=WAIT_SECONDS,
        monotonic=time.monotonic,
    )


def test_the_lead_is_kept_during_a_long_look(
    topics: str, endpoint: str, table: DocumentTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, over = threading.Event(), threading.Event()

    def look(_: Provisioner) -> None:
        looking.set()
        over.wait(2 * WAIT_SECONDS)

    monkeypatch.setattr(Provisioner, "look", look)
    with provisioner(topics, endpoint) as settings:
        try:
            assert looking.wait(WAIT_SECONDS), "it does not lead"
            assert_kept(endpoint, TABLE, f"{NODE}/{settings.side}")
        finally:
            over.set()


def test_who_decides_goes_on_deciding_during_a_long_turn_of_rollouts(
    topics: str, endpoint: str, table: DocumentTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    deciding, over = threading.Event(), threading.Event()

    def states(_: RolloutStore) -> dict[str, Any]:
        deciding.set()
        over.wait(2 * WAIT_SECONDS)
        return {}

    monkeypatch.setattr(RolloutStore, "states", states)
    with provisioner(topics, endpoint):
        try:
            assert deciding.wait(WAIT_SECONDS), "it does not decide"
            assert_kept(endpoint, TABLE, DECIDER)
        finally:
            over.set()


def test_a_process_that_cannot_read_what_is_wanted_leaves_rollouts_to_others(
    topics: str, endpoint: str, table: DocumentTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, failing, client = Provisioner.look, threading.Event(), dynamodb_client(endpoint)

    def look(leader: Provisioner) -> None:
        looks(leader)
        if failing.is_set():
            raise StoreError("the table is throttled")

    def is_held() -> bool:
        return "Item" in client.get_item(TableName=TABLE, Key=lease_key(DECIDER), ConsistentRead=True)

    monkeypatch.setattr(Provisioner, "look", look)
    with provisioner(topics, endpoint):
        eventually(is_held, WAIT_SECONDS, "it decides")
        failing.set()
        eventually(rival(endpoint, DECIDER).held, WAIT_SECONDS, "it leaves rollouts to the other")


def test_a_process_that_leads_its_side_no_more_leaves_rollouts_to_others(
    topics: str, endpoint: str, table: DocumentTable
) -> None:
    client = dynamodb_client(endpoint)

    def is_held(what: str) -> bool:
        return "Item" in client.get_item(TableName=TABLE, Key=lease_key(what), ConsistentRead=True)

    with provisioner(topics, endpoint) as settings:
        side = f"{NODE}/{settings.side}"
        eventually(lambda: is_held(DECIDER), WAIT_SECONDS, "it decides")
        leader, decider = rival(endpoint, side), rival(endpoint, DECIDER)

        def taken_away() -> bool:
            if leader.held():
                return True
            client.delete_item(TableName=TABLE, Key=lease_key(side))
            return leader.held()

        eventually(lambda: taken_away() and decider.held(), WAIT_SECONDS, "it leaves rollouts to the other")
