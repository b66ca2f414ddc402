"""A side with its topic in memory and a real provisioner, and one with a stateless provisioner."""

from collections.abc import Callable, Mapping
from typing import cast

from confluent_kafka import KafkaError, KafkaException

from pipelines.control.provision.live_nodes import LiveNodes
from pipelines.control.provision.metrics import ProvisionMetrics
from pipelines.control.provision.provisioner import Provisioner
from pipelines.control.provision.status_writer import StatusWriter
from shared.contracts.completeness import COMPLETE_KEY
from shared.contracts.document_status import DocumentStatus
from shared.contracts.documents import Catalogue, decode_entry
from shared.contracts.heartbeats import NODES, Usage
from shared.contracts.publish_plan import Records
from shared.contracts.rollouts import RolloutState
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from shared.kafka.global_table import GlobalTable
from tests.contract.provision.catalogue_model import Follower


class MemoryTopic:
    """A `config` topic as a provisioner reads and writes it; a write may fail, with or without effect."""

    def __init__(self) -> None:
        self.view = Catalogue()
        self.published: list[list[tuple[bytes, bytes | None]]] = []
        """Each attempted transaction."""

        self._offsets: dict[bytes, int] = {}
        self.end = 0
        self.fault = ""

    @property
    def position(self) -> int:
        return self.end

    def offset(self, key: bytes) -> int:
        return self._offsets.get(key, -1)

    def publish(self, records: Records) -> None:
        self.published.append(list(records.items()))
        fault, self.fault = self.fault, ""
        if fault != "before":
            self.put(records)
        if fault:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    def put(self, records: Records) -> None:
        entries, complete = dict(self.view.entries), self.view.complete or COMPLETE_KEY in records
        for key, value in records.items():
            self._offsets[key], self.end = self.end, self.end + 1
            entries.pop(key, None)
            if value is not None and key != COMPLETE_KEY:
                entries[key] = decode_entry(value)
        self.view = Catalogue(entries, complete=complete)

    def lose(self) -> None:
        self.view, self._offsets, self.end = Catalogue(), {}, 0


class Side:
    """A side with its topic, its nodes, and the leading provisioner, if any."""

    def __init__(
        self,
        name: str,
        table: DocumentTable,
        items: ItemStore[DocumentStatus],
        clock: Callable[[], int],
        states: Mapping[str, RolloutState],
    ) -> None:
        self.topic, self.follower, self.used = MemoryTopic(), Follower(), 0
        self.altered = False
        """Whether the topic differs from what its provisioner left."""

        self.became_complete = False
        self._leader: Provisioner | None = None
        self._start: Callable[[], Provisioner] = lambda: Provisioner(
            side=name,
            table=table,
            topic=cast(GlobalTable[Catalogue], self.topic),
            publish=self.topic.publish,
            statuses=StatusWriter(items, name, clock),
            nodes=cast(LiveNodes, self),
            rollouts=lambda: dict(states),
            want_rollouts=lambda _: None,
            metrics=ProvisionMetrics(),
            clock=clock,
        )

    def usage(self, _now_ms: int) -> Usage:
        return dict.fromkeys(NODES, self.used)

    def alter(self, records: Records) -> None:
        self.topic.put(records)
        self._is_altered()

    def lose(self) -> None:
        self.topic.lose()
        self._is_altered()

    def _is_altered(self) -> None:
        """Expect nothing until the provisioner has looked; a source that is gone may wait again."""
        self.follower, self.used, self.altered = Follower(at=self.follower.at), 0, True

    def crash(self) -> None:
        self._leader = None

    def look(self) -> None:
        self._leader = self._leader or self._start()
        was_complete = self.topic.view.complete
        try:
            self._look(self._leader)
        except KafkaException:  # the process starts again
            self.crash()
            return
        self.altered = False
        self.became_complete = self.topic.view.complete and not was_complete

    def _look(self, leader: Provisioner) -> None:
        leader.look()


class Double(Side):
    """A provisioner without state between looks."""

    def _look(self, leader: Provisioner) -> None:
        leader.compute_anew()
        leader.look()
