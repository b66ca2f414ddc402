"""A provision process: leads if no other does, and follows the table while it leads."""

import threading
from collections.abc import Callable, Mapping
from typing import Final
from uuid import uuid4

from confluent_kafka import KafkaException, Message

from pipelines.control.provision import key_usage
from pipelines.control.provision.catalogue_reader import CatalogueReader
from pipelines.control.provision.key_usage import KeyUsageWriter
from pipelines.control.provision.live_nodes import WINDOW_MS, LiveNodes
from pipelines.control.provision.meter_client import MeterClient
from pipelines.control.provision.metrics import ProvisionMetrics
from pipelines.control.provision.provisioner import Provisioner
from pipelines.control.provision.publisher import FencedError, FencedPublisher
from pipelines.control.provision.reconciliation import is_whole, wanted
from pipelines.control.provision.rollout_activities import RolloutActivities
from pipelines.control.provision.rollout_decider import RolloutDecider
from pipelines.control.provision.rollout_worker import RolloutWorker
from pipelines.control.provision.settings import ProvisionSettings
from pipelines.control.provision.status_writer import StatusWriter
from shared.contracts.control_table import LEASES
from shared.contracts.document_status import DocumentStatus
from shared.contracts.rollouts import DECIDER
from shared.contracts.topics import Topic
from shared.dynamodb.activity_reader import ActivityReader
from shared.dynamodb.activity_register import LEASE_SECONDS, ActivityRegister
from shared.dynamodb.client import StoreError
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.item_store import ItemStore
from shared.dynamodb.lease import Lease
from shared.dynamodb.renewed_lease import RENEWALS, RenewedLease
from shared.dynamodb.rollout_store import RolloutStore
from shared.kafka.config_topic import exact_config_table
from shared.kafka.tail import Tail
from shared.runtime.clock import Clock
from shared.runtime.health import health_served
from shared.runtime.logging import get_logger

NODE: Final = "provision"
_log = get_logger(__name__)


class Provision:
    """One process."""

    def __init__(self, settings: ProvisionSettings, clock: Clock, monotonic: Callable[[], float]) -> None:
        self._settings, self._clock, self._monotonic = settings, clock, monotonic
        self._metrics = ProvisionMetrics()
        self._metrics.ready.set_function(lambda: all(self._report().values()))
        self._table = DocumentTable(settings.documents_table, settings.documents_endpoint)
        self._nodes = LiveNodes()
        self._metrics.watch(lambda: self._nodes.instances(clock()))
        place = (settings.documents_table, settings.documents_endpoint)
        self._keys = KeyUsageWriter(ItemStore(*place, int), settings.side, clock)
        self._tails = [
            self._tail(Topic.HEARTBEATS, WINDOW_MS, self._nodes.take),
            self._tail(Topic.KEY_USAGE, key_usage.WINDOW_MS, self._keys.take),
        ]
        self._items = ItemStore(*place, DocumentStatus)
        self._topic = exact_config_table(settings.bootstrap, f"hifi-{settings.side}-{NODE}")
        self._lease = self._lease_of(f"{NODE}/{settings.side}")
        self._rollout_store = RolloutStore(*place)
        self._rollouts = self._new_rollouts(place)
        self._leader: Provisioner | None = None
        self._table_answers = self._adopted = self._whole = False
        self._reader = CatalogueReader(self._table)

    def run(self, stopping: threading.Event) -> None:
        """Serve and provision until stopping.

        Raises:
            OSError: if the port is taken.
        """
        host, port = self._settings.host, self._settings.port
        with health_served(host, port, self._report, self._metrics.registry) as port:
            _log.info("serving", extra={"port": port})
            self._rollouts.start()
            self._lease.start()
            pause = min(self._settings.provision_seconds, self._settings.lease_seconds / RENEWALS)
            while not stopping.wait(pause):
                self._turn()
        self._rollouts.stop()
        self._lease.stop()
        for tail in self._tails:
            tail.stop()
        self._topic.stop()

    def _new_rollouts(self, place: tuple[str, str | None]) -> RolloutWorker:
        """The lease's thread keeps activities alive too: many steps may take long to write."""
        side, store, owner = self._settings.side, self._rollout_store, f"{NODE}-{uuid4().hex[:12]}"
        clock, monotonic = self._clock, self._monotonic

        def register_of(each: str) -> ActivityRegister:
            return ActivityRegister(*place, side=each, owner=owner, clock=clock, monotonic=monotonic)

        steps = RolloutActivities(register_of)
        return RolloutWorker(
            side=side,
            store=store,
            decider=RolloutDecider(side=side, store=store, documents=self._table, steps=steps, clock=clock),
            meter=MeterClient(self._settings.observe_url),
            activities=ActivityReader(*place, side=side, clock=clock, monotonic=monotonic),
            lease=self._lease_of(DECIDER, also=steps.beat),
            clock=clock,
            seconds=self._settings.rollout_seconds,
        )

    def _lease_of(self, what: str, also: Callable[[], None] = lambda: None) -> RenewedLease:
        seconds = self._settings.lease_seconds
        lease = Lease(
            self._settings.documents_table,
            self._settings.documents_endpoint,
            keys={TENANT: LEASES, DOCUMENT: what},
            owner=uuid4().hex,
            seconds=seconds,
            monotonic=self._monotonic,
        )
        return RenewedLease(
            lease,
            renew_seconds=min(seconds, LEASE_SECONDS) / RENEWALS,
            work_seconds=self._settings.longest_look_seconds,
            monotonic=self._monotonic,
            also=also,
        )

    def _tail(self, topic: Topic, window_ms: int, take: Callable[[list[Message]], None]) -> Tail:
        client_id = f"hifi-{self._settings.side}-{NODE}"
        tail = Tail(
            bootstrap=self._settings.bootstrap,
            client_id=client_id,
            topic=topic,
            window_ms=window_ms,
            take=take,
        )
        return tail.start()

    def _report(self) -> Mapping[str, bool]:
        return {
            "table": self._table_answers,
            "brokers": self._topic.loaded,
            "adopted": self._adopted,
            "published": self._whole,
        }

    def _turn(self) -> None:
        looked = False
        try:
            if not self._table_answers:
                self._table.ensure()
                self._table_answers = True
            if self._leads():
                self._leading().look()
                looked = True
                self._keys.write()
            self._adopted = self._adopted or self._table.is_adopted(self._settings.side)
            self._whole = self._whole or (self._adopted and self._is_whole())
        except StoreError as error:
            self._table_answers = False
            _log.warning("documents cannot be read or written, trying again", extra={"error": str(error)})
        except FencedError:
            self._leader = None
            self._lease.doubt()
            _log.warning("another provisioner took over")
        except KafkaException as error:
            self._leader = None
            _log.warning("documents cannot be published, trying again", extra={"error": str(error)})
        if not looked:  # what the last look handed over is old by now
            self._rollouts.want(None)
        self._metrics.leader.set(self._leader is not None)

    def _is_whole(self) -> bool:
        """Whether the topic has everything; asked until it once had, by those who follow as well."""
        if not self._topic.loaded:
            return False
        self._reader.refresh()
        topic = self._topic.view
        needed = wanted(self._reader.documents, topic.entries, self._reader.unread)
        if not (topic.complete and is_whole(needed, topic.entries)):
            return False
        self._reader = CatalogueReader(self._table)  # what it read is not needed any more
        return True

    def _leads(self) -> bool:
        """Whether this process may write. One that has not read the topic does not want to yet."""
        if not self._topic.loaded:
            return False
        held = self._lease.held()
        if not held:
            self._leader = None
        return held

    def _leading(self) -> Provisioner:
        if self._leader is None:
            publisher = FencedPublisher(self._settings.bootstrap, self._settings.side)
            self._leader = Provisioner(
                side=self._settings.side,
                table=self._table,
                topic=self._topic,
                publish=publisher.publish,
                nodes=self._nodes,
                rollouts=self._rollout_store.states,
                want_rollouts=self._rollouts.want,
                statuses=StatusWriter(self._items, self._settings.side, self._clock),
                metrics=self._metrics,
                clock=self._clock,
            )
            _log.info("leading")
        return self._leader
