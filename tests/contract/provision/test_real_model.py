"""The model of the catalogue against real parts: API, table, and two sides with brokers and provisioners."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from scripts.local.addresses import BROKER_IDS
from scripts.local.jars import ensure_jars
from scripts.local.kafka.cluster import Cluster
from scripts.local.ports import free_base
from scripts.local.side import Side
from shared.contracts.document_items import DocumentKey
from shared.contracts.documents import Catalogue, Destination, Document, Pipe, Source, key_digest, key_id
from shared.contracts.topics import topic_specs
from shared.dynamodb.document_table import DocumentTable
from shared.kafka.admin import ensure_topics
from shared.kafka.config_topic import config_table
from tests.contract.management.api_process import ANY, ApiProcess
from tests.contract.provision.catalogue_model import CatalogueModel, Follower, Published, Wanted
from tests.harness.provision_process import ProvisionProcess
from tests.harness.waiting import eventually

SEED = 20261125
SHOP = DocumentKey("source", "shop")


@dataclass
class RealSide:
    """A side's provisioner, and everything that its topic showed to a node."""

    provisioner: ProvisionProcess
    seen: list[Catalogue] = field(default_factory=list)

    def shown(self, tenant: str, after: int = 0) -> list[Published]:
        """A tenant's documents, in each catalogue that a node has used since."""
        return [of(tenant, each) for each in self.seen[after:]]


def of(tenant: str, catalogue: Catalogue) -> Published:
    return {key: entry for key, entry in catalogue.entries.items() if entry.document.tenant == tenant}


class Model(RuleBasedStateMachine):
    """One tenant in each example; the processes go on from one example to the next."""

    api: ClassVar[ApiProcess]
    sides: ClassVar[dict[str, RealSide]]
    chance: ClassVar[random.Random] = random.Random(SEED)
    runs: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        Model.runs += 1
        self.model = CatalogueModel(f"model-{Model.runs}")
        self.followers = {name: Follower() for name in self.sides}
        self.checked = {name: len(side.seen) for name, side in self.sides.items()}
        self.keys: list[str] = []

    @property
    def root(self) -> str:
        return f"/v1/tenants/{self.model.tenant}"

    def path(self, key: DocumentKey) -> str:
        return f"{self.root}/{key.kind}s/{key.name}"

    def destination(self, name: str, timeout: float) -> Destination:
        options = {"url": "https://example.com/hook"}
        return Destination(name=name, tenant=self.model.tenant, options=options, timeout_seconds=timeout)

    def pipe(self, sample: float) -> Pipe:
        return Pipe(name="p", tenant=self.model.tenant, source="shop", destination="a", sample=sample)

    def source(self) -> Source:
        return Source(name="shop", tenant=self.model.tenant, write_keys=self.keys)

    @initialize()
    def begin(self) -> None:
        """Write a source with a generated key, a destination and a pipe, as one bundle."""
        wanted: list[Document] = [self.destination("a", 1.0), self.pipe(100.0)]
        bodies = [{"kind": "source", "name": "shop"}, *map(body, wanted)]
        answer = self.api.ask("POST", f"{self.root}/apply", {"documents": bodies})
        assert answer.status == 200, answer.text
        (made,) = [each["write_key"] for each in answer.json["changes"] if each["kind"] == "source"]
        self.keys = [key_digest(made)]
        self.model.write([(SHOP, self.source()), *((key_of(each), each) for each in wanted)])

    @rule(name=st.sampled_from("ab"), timeout=st.sampled_from([1.0, 2.0]))
    def put(self, name: str, timeout: float) -> None:
        wanted = self.destination(name, timeout)
        answer = self.api.ask("PUT", self.path(key_of(wanted)), body(wanted), ANY)
        assert answer.status in (200, 201), answer.text
        self.model.write([(key_of(wanted), wanted)])

    @rule()
    def delete(self) -> None:
        key = DocumentKey("destination", "b")  # a destination that no pipe names
        answer = self.api.ask("DELETE", self.path(key), headers=ANY)
        there = self.model.histories.get(key, [None])[-1] is not None
        assert answer.status == (204 if there else 404), answer.text
        if there:
            self.model.write([(key, None)])

    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([DocumentKey("destination", "a"), DocumentKey("pipe", "p")]))
        versions = self.model.histories[key]
        version = data.draw(st.integers(1, len(versions)))
        answer = self.api.ask("POST", f"{self.path(key)}/revert", {"version": version}, ANY)
        assert answer.status == 200, answer.text
        self.model.write([(key, versions[version - 1])])

    @rule(timeout=st.sampled_from([1.0, 2.0]), sample=st.sampled_from([10.0, 100.0]), b=st.booleans())
    def apply(self, timeout: float, sample: float, b: bool) -> None:
        put: list[Document] = [self.destination("a", timeout), self.pipe(sample)]
        gone = DocumentKey("destination", "b")
        if b:
            put.append(self.destination("b", timeout))
        asked = {
            "documents": [*map(body, put)],
            "delete": [] if b else [{"kind": gone.kind, "name": gone.name}],
        }
        answer = self.api.ask("POST", f"{self.root}/apply", asked)
        assert answer.status == 200, answer.text
        self.model.write([*((key_of(each), each) for each in put), *([] if b else [(gone, None)])])

    @rule()
    def rotate(self) -> None:
        """Add a key, then remove the oldest one."""
        made = self.api.ask("POST", f"{self.path(SHOP)}/keys", {"label": "next"})
        assert made.status == 201, made.text
        self.keys = [*self.keys, key_digest(made.json["key"])]
        self.model.write([(SHOP, self.source())])
        gone = self.api.ask("DELETE", f"{self.path(SHOP)}/keys/{key_id(self.keys[0])}")
        assert gone.status == 204, gone.text
        self.keys = self.keys[1:]
        self.model.write([(SHOP, self.source())])

    @rule(timeout=st.sampled_from([1.0, 2.0, 3.0]))
    def kill_the_api_during_a_write(self, timeout: float) -> None:
        """An acknowledged write is there; any other one is there completely or not at all."""
        wanted = [self.destination("a", timeout), self.destination("b", timeout)]
        answered: list[int] = []

        def write() -> None:
            try:
                documents = {"documents": [*map(body, wanted)]}
                answered.append(self.api.ask("POST", f"{self.root}/apply", documents).status)
            except (OSError, HTTPException):
                return

        writing = threading.Thread(target=write)
        writing.start()
        time.sleep(self.chance.uniform(0, 0.03))
        self.api.kill()
        writing.join()
        self.api.restart()
        eventually(self.api.ready, 60, "the API is back")
        changes: list[Wanted] = [(key_of(each), each) for each in wanted]
        there = {key for key, document in changes if self._newest(key) == document}
        if answered == [200]:
            assert len(there) == len(changes)
        if len(there) == len(changes):  # written, or unchanged
            self.model.write(changes)
        for key in (key_of(each) for each in wanted):
            assert self._newest(key) == (self.model.histories.get(key) or [None])[-1]

    def _newest(self, key: DocumentKey) -> Document | None:
        stored = DocumentTable(self.api.table, self.api.endpoint).get(self.model.tenant, key)
        return None if stored is None else stored.document

    @rule(data=st.data())
    def kill_a_provisioner(self, data: st.DataObject) -> None:
        side = self.sides[data.draw(st.sampled_from(sorted(self.sides)))]
        side.provisioner.kill()
        side.provisioner.restart()

    @invariant()
    def each_side_showed_versions_of_the_catalogue_in_order(self) -> None:
        for name, side in self.sides.items():
            count = len(side.seen)
            for each in side.shown(self.model.tenant, self.checked[name])[: count - self.checked[name]]:
                self.followers[name].shows(self.model, each)
            self.checked[name] = count

    def teardown(self) -> None:
        for name, side in self.sides.items():
            last = eventually(lambda: self.model.newest == side.shown(self.model.tenant, -1)[0], 60, name)  # noqa: B023
            assert last
        self.each_side_showed_versions_of_the_catalogue_in_order()


def body(document: Document) -> dict[str, Any]:
    """A document in the form that a writer sends."""
    found: dict[str, Any] = msgspec.to_builtins(document)
    return found


def key_of(document: Document) -> DocumentKey:
    return DocumentKey(str(document.__struct_config__.tag), document.name)


@pytest.fixture
def sides(topics: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Brokers of two sides: those that all tests share, and three others."""
    other = Side(root=tmp_path / "green", port=free_base(), partitions=1)
    with Cluster(other, ensure_jars(print).broker) as cluster:
        ensure_topics(cluster.bootstrap, topic_specs(1))
        yield {"blue": topics, "green": cluster.bootstrap}
        for broker in BROKER_IDS:
            cluster.kill(broker)


@pytest.mark.proof
def test_each_side_shows_a_version_of_the_catalogue_whatever_is_killed_and_comes_to_the_newest(
    sides: dict[str, str], dynamodb_local: str, tmp_path: Path
) -> None:
    with ExitStack() as ending:
        api = ApiProcess(tmp_path, dynamodb_local)
        ending.callback(api.kill)
        found: dict[str, RealSide] = {}
        for name, bootstrap in sides.items():
            log = tmp_path / f"{name}.log"
            found[name] = RealSide(ProvisionProcess(bootstrap, dynamodb_local, api.table, log, side=name))
            ending.callback(found[name].provisioner.kill)
            reader = config_table(bootstrap, f"model-{name}", seen=found[name].seen.append)
            ending.callback(reader.stop)
            assert reader.wait(60)

        class RealParts(Model):
            pass

        RealParts.api, RealParts.sides = api, found
        chosen = settings(
            max_examples=10, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        )
        run_state_machine_as_test(RealParts, settings=chosen)
