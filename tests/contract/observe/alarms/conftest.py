"""Alarms with a store and receivers on real sockets."""

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from pipelines.control.observe.alarms.inputs import Inputs, NodeProgress
from pipelines.control.observe.alarms.service import Alarms
from pipelines.control.observe.dynamodb import Store
from shared.contracts.documents import Catalogue, Contact, Entry
from shared.contracts.publish_plan import document_key
from shared.runtime.clock import wall_clock
from shared.runtime.secret_stores import store_for
from shared.runtime.secrets import SecretTable
from tests.contract.observe.alarms.far import Far, far
from tests.harness.local_aws import REGION, local_aws
from tests.unit.pipelines.control.observe.alarm_inputs import destination, settings

KEY: Final = "whsec_" + base64.b64encode(bytes(range(32))).decode()


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with local_aws() as url:
        yield url


@pytest.fixture
def store(aws: str) -> Store:
    found = Store("alarms", aws)
    found.ensure()
    return found


@pytest.fixture
def receiver() -> Iterator[Far]:
    with far() as found:
        yield found


@pytest.fixture
def secrets(tmp_path: Path) -> Iterator[SecretTable]:
    path = tmp_path / "secrets.yaml"
    path.write_text(f"operators/alarms: {KEY}\nshop/alarms: {KEY}\n")
    path.chmod(0o600)
    table = SecretTable(store_for("local", path)).start()
    yield table
    table.stop()


Start = Callable[..., Any]


@pytest.fixture
def start(store: Store, secrets: SecretTable) -> Start:
    """Starts alarms as observe does, with given contacts and settings."""

    @contextmanager
    def started(*contacts: Contact, now: Callable[[], int] = wall_clock, **given: Any) -> Iterator[Alarms]:
        # Receivers run in this process, which may stall: a late answer causes a second notice.
        fields = {"allow_loopback": True, "alarm_hold_seconds": 0, "alarm_send_seconds": 60} | given
        entries = {document_key(each): Entry(version=1, document=each) for each in contacts}
        catalogue = Catalogue(entries)
        alarms = Alarms(settings(**fields), store, lambda: catalogue, secrets, now)
        try:
            alarms.restore()
            yield alarms
        finally:
            alarms.close()

    return started


def stalled(*nodes: str, at_ms: int | None = None) -> Inputs:
    now = wall_clock() if at_ms is None else at_ms
    stuck = [NodeProgress(node=node, readable=5, moved_ms=now - 120_000) for node in nodes]
    return Inputs(at_ms=now, cards={}, nodes=stuck)


def refused() -> Inputs:
    """A customer's endpoint that answers 404."""
    return Inputs(at_ms=wall_clock(), cards={}, destinations=[destination(reasons={"404 refused": 3})])
