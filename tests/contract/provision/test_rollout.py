"""A pipe opened step by step: the topic has its present step's share, whichever process is killed."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Message

from shared.contracts.document_status import DocumentStatus, State, document_and_side, status_partition
from shared.contracts.documents import Document, Pipe, decode_entry
from shared.contracts.rollout_plan import Rollout
from shared.contracts.topics import Topic
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from shared.dynamodb.rollout_store import RolloutStore
from shared.kafka.config_topic import config_table
from tests.contract.management.api_process import ApiProcess
from tests.harness.document_changes import change_of
from tests.harness.provision_process import START_SECONDS, ProvisionProcess
from tests.harness.scripted_observe import Figures, ScriptedObserve, scripted_observe
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

PLAN = Rollout(steps=[1, 10, 100], every="1s")
GOOD = Figures(events=1_000, good=1_000)
FEW = Figures(events=50, good=50)


class Rig:
    """A table with a pipe, an observe, and the nodes' view of the pipe."""

    def __init__(self, topics: str, endpoint: str, folder: Path, observe: ScriptedObserve) -> None:
        self.tenant, self.observe = f"t{uuid4().hex[:8]}", observe
        self._topics, self.endpoint, self.folder = topics, endpoint, folder
        self.table_name = f"documents-{self.tenant}"
        self.table = DocumentTable(self.table_name, endpoint)
        self.table.ensure()
        self.store = RolloutStore(self.table_name, endpoint)
        self.view = config_table(topics, self.tenant)
        self.shares: list[float] = []
        assert self.view.wait(120)

    def write(self, **fields: Any) -> int:
        pipe = Pipe(name=self.tenant, tenant=self.tenant, source="s", destination="d", **fields)
        return self.table.write(self.tenant, [change_of(pipe)], by="ann", at_ms=1)[0].version

    def start(self, side: str = "local") -> ProvisionProcess:
        log = self.folder / f"{uuid4().hex}.log"
        process = ProvisionProcess(
            self._topics, self.endpoint, self.table_name, log, side=side, observe_url=self.observe.url
        )
        eventually(process.ready, START_SECONDS, "the provisioner is ready")
        return process

    def say_by_step(self, later: Figures, first: Figures = GOOD) -> None:
        """Figures of the first step and of later ones: no step is over before the test has seen it."""

        def figures() -> Figures:
            state = self.store.state(self.tenant, self.tenant)
            return later if state is not None and state.step > 1 else first

        self.observe.figures = figures

    def published(self) -> list[float]:
        """All shares that were on the topic, in order."""
        key = f"{self.tenant}/pipe/{self.tenant}".encode()
        records = [each for each in Topics(self._topics).all_of(Topic.CONFIG) if each.key() == key]
        shares = [document.sample for each in records if isinstance(document := _document(each), Pipe)]
        return [share for share, _ in groupby(shares)]

    def share(self) -> float | None:
        """The share that nodes take now, None without the pipe; remembers every change."""
        pipe = self.view.view.pipes.get((self.tenant, self.tenant))
        if pipe is None:
            return None
        assert pipe.rollout is None
        if not self.shares or self.shares[-1] != pipe.sample:
            self.shares.append(pipe.sample)
        return pipe.sample

    def reaches(self, share: float) -> None:
        eventually(lambda: self.share() == share, 120, f"{share} %, after {self.shares}", every=0.02)

    def status(self) -> DocumentStatus | None:
        items = ItemStore(self.table_name, self.endpoint, DocumentStatus).all(status_partition(self.tenant))
        return next((each for sort, each in items if document_and_side(sort)[0].startswith("pipe")), None)


@pytest.fixture
def rig(topics: str, dynamodb_local: str, tmp_path: Path) -> Iterator[Rig]:
    with scripted_observe() as observe:
        made = Rig(topics, dynamodb_local, tmp_path, observe)
        yield made
        made.view.stop()


@pytest.fixture
def ending() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_it_goes_up_by_itself_and_a_change_of_the_pipe_keeps_the_step(rig: Rig, ending: ExitStack) -> None:
    rig.write(rollout=PLAN)
    ending.callback(rig.start().kill)
    rig.reaches(1)
    rig.observe.say(99)
    eventually(lambda: "99 of 100 events" in _reason(rig.store, rig.tenant))
    version = rig.write(rollout=PLAN, transform="data")
    eventually(lambda: rig.view.view.pipes[rig.tenant, rig.tenant].transform == "data")
    assert rig.share() == 1
    rig.observe.reasons = ["the alarm burn is open"]
    rig.say_by_step(FEW)
    eventually(lambda: "side local is not stable" in _reason(rig.store, rig.tenant))
    rig.observe.reasons = []
    rig.reaches(10)
    rig.observe.say(1_000)
    rig.reaches(100)
    assert rig.published() == [1, 10, 100]
    eventually(lambda: _state(rig.store, rig.tenant) == ("done", 3))
    status = eventually(rig.status)
    assert (status.version, status.state) != (version, State.PENDING)
    rig.write(transform="data")
    eventually(
        lambda: not rig.store.states() and not rig.store.cards(), what="a pipe without a rollout has no state"
    )
    assert rig.share() == 100


def test_it_stops_when_it_hurts_and_requests_through_the_api_lead_on(
    rig: Rig, ending: ExitStack, tmp_path: Path
) -> None:
    rig.write(rollout=PLAN)
    api = ApiProcess(tmp_path, rig.endpoint, rig.table_name)
    ending.callback(api.kill)
    path = f"/v1/tenants/{rig.tenant}/pipes/{rig.tenant}"

    def member() -> Any:
        return api.ask("GET", path).json["rollout"]

    def asks(action: str) -> int:
        return api.ask("POST", f"{path}/rollout", {"action": action}).status

    assert (member()["state"], member()["step"], member()["share"]) == ("going up", 1, 1)
    assert asks("pause") == 200, "before it began"
    ending.callback(rig.start().kill)
    rig.say_by_step(FEW)
    rig.reaches(1)
    assert (asks("pause"), asks("jump"), member()["state"]) == (409, 422, "paused")
    assert asks("resume") == 200
    rig.reaches(10)
    rig.say_by_step(Figures(events=1_000, good=900, dead=100))
    rig.reaches(1)
    found = member()
    assert (found["state"], found["step"], found["next_ms"]) == ("stopped", 1, None)
    assert "90 % good, 10 % dead letters" in found["reason"]
    rig.say_by_step(FEW)
    assert asks("resume") == 200
    rig.reaches(10)
    assert asks("back") == 200
    rig.reaches(1)
    assert member()["state"] == "paused"
    assert asks("finish") == 200
    rig.reaches(100)
    assert (asks("finish"), member()["state"]) == (409, "done")
    rows = api.ask("GET", f"/v1/tenants/{rig.tenant}/audit").json["items"]
    assert [row["detail"] for row in rows if row["status"] == 200][:2] == ["finish", "back"]


@pytest.mark.proof
def test_killed_midway_another_goes_on_from_there_and_sides_add_up(rig: Rig, ending: ExitStack) -> None:
    rig.write(rollout=Rollout(steps=[1, 10, 50, 100], every="1s"))
    first = rig.start()
    ending.callback(first.kill)
    rig.say_by_step(Figures(events=60, good=60))
    rig.reaches(10)
    first.kill()
    state, _ = eventually(lambda: _state(rig.store, rig.tenant))
    assert state in ("going up", "waiting")
    ending.callback(rig.start().kill)
    eventually(lambda: "60 of 100 events" in _reason(rig.store, rig.tenant), what="it waits")
    assert rig.share() == 10, "nothing was taken back"
    ending.callback(rig.start("green").kill)
    rig.reaches(100)
    assert rig.shares == sorted(rig.shares)


def _document(record: Message) -> Document | None:
    """The document that a record publishes; None if it deletes."""
    value = record.value()
    return None if value is None else decode_entry(value).document


def _state(store: RolloutStore, tenant: str) -> tuple[str, int] | None:
    found = store.state(tenant, tenant)
    return None if found is None else (found.state, found.step)


def _reason(store: RolloutStore, tenant: str) -> str:
    found = store.state(tenant, tenant)
    return "" if found is None else found.reason
