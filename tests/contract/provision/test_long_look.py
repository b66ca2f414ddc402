"""A look at the table that takes longer than the lease does not cost the lead."""

import threading
import time
from typing import Any

import pytest

from pipelines.control.provision.provisioner import Provisioner
from pipelines.control.provision.service import NODE, Provision
from pipelines.control.provision.settings import ProvisionSettings
from shared.contracts.control_table import LEASES
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.lease import Lease
from shared.runtime.clock import wall_clock
from tests.contract.provision.conftest import TABLE

LEASE_SECONDS = 1.0


def test_nobody_takes_over_during_a_long_look(
    topics: str, endpoint: str, table: DocumentTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, over, stopping = threading.Event(), threading.Event(), threading.Event()

    def look(_: Provisioner) -> None:
        looking.set()
        over.wait(60)

    monkeypatch.setattr(Provisioner, "look", look)
    given: dict[str, Any] = {
        "bootstrap": topics,
        "documents_table": TABLE,
        "documents_endpoint": endpoint,
        "port": 0,
        "lease_seconds": LEASE_SECONDS,
    }
    settings = ProvisionSettings(**given)
    process = Provision(settings, wall_clock, time.monotonic)
    running = threading.Thread(target=process.run, args=(stopping,), daemon=True)
    running.start()
    try:
        assert looking.wait(60), "it does not lead"
        other = Lease(
            TABLE,
            endpoint,
            keys={TENANT: LEASES, DOCUMENT: f"{NODE}/{settings.side}"},
            owner="other",
            seconds=LEASE_SECONDS,
            monotonic=time.monotonic,
        )
        until = time.monotonic() + 5 * LEASE_SECONDS
        while time.monotonic() < until:
            assert not other.held()
            time.sleep(LEASE_SECONDS / 10)
    finally:
        stopping.set()
        over.set()
        running.join(60)
