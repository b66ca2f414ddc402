"""Brings the `config` topic to what customers want, one look at a time."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Final

from pipelines.control.provision.catalogue_reader import CatalogueReader
from pipelines.control.provision.live_nodes import LiveNodes
from pipelines.control.provision.memo import Memo
from pipelines.control.provision.metrics import ProvisionMetrics
from pipelines.control.provision.reconciliation import (
    LIVE_MS,
    Difference,
    Entries,
    Force,
    adopted,
    compared,
    completes,
    due,
    force,
    is_lost,
)
from pipelines.control.provision.status import forgettable, judged
from pipelines.control.provision.status_writer import StatusWriter
from shared.contracts.document_items import StoredDocument
from shared.contracts.documents import Catalogue, Entry, Pipe, decode_entry
from shared.contracts.heartbeats import Usage
from shared.contracts.publish_plan import COMPLETE, Records
from shared.contracts.rollouts import RolloutState, as_published
from shared.dynamodb.document_table import DocumentTable
from shared.kafka.global_table import GlobalTable
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_SEEN_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.02
_ANEW_MS: Final = 60_000
"""After this long all is computed again, although no input has moved, and the side noted as at work."""

_MOST_FORGOTTEN: Final = 100
"""Old deletions that are forgotten then: a look that takes long delays what is published."""


class Provisioner:
    """The leader of a side. Belongs to one thread.

    It looks several times a second, at thousands of documents that seldom change: what a look computes from
    the documents, the topic and the states of rollouts is kept until one of them moves.
    """

    def __init__(  # noqa: PLR0913  # what it reads, what it writes, and the world
        self,
        *,
        side: str,
        table: DocumentTable,
        topic: GlobalTable[Catalogue],
        publish: Callable[[Records], None],
        statuses: StatusWriter,
        nodes: LiveNodes,
        rollouts: Callable[[], Mapping[str, RolloutState]],
        want_rollouts: Callable[[Sequence[Pipe]], None],
        metrics: ProvisionMetrics,
        clock: Clock,
    ) -> None:
        """Lead.

        Args:
            side: the side's name.
            table: what customers want.
            topic: the side's `config` topic, read to its end.
            publish: writes records to that topic and returns when the brokers have them.
            statuses: writes how far the side is.
            nodes: what the side's nodes use.
            rollouts: reads how far they are; asked only if there are any.
            want_rollouts: gets the pipes that have one, at each look.
            metrics: where to count.
            clock: tells the time.
        """
        self._side, self._table, self._topic, self._publish = side, table, topic, publish
        self._statuses, self._nodes, self._metrics, self._clock = statuses, nodes, metrics, clock
        self._rollouts, self._want_rollouts = rollouts, want_rollouts
        self._said: tuple[int, Entries, Usage] | None = None
        """The inputs of the status in the table: the catalogue's version, the topic, its use."""

        self._reader = CatalogueReader(table)
        self._rolling_out, self._opened = Memo(_rolling_out), Memo(_opened)
        self._compared, self._newest = Memo(compared), Memo(self._newest_offsets)
        self._states: Mapping[str, RolloutState] = {}
        self._published_ms: dict[str, int] = {}
        self._began_ms = self._computed_ms = clock()
        self._adopted = False

    def look(self) -> None:
        """Publish what is different and due.

        Raises:
            StoreError: if the table cannot be used.
            KafkaException: if the brokers did not take it.
            FencedError: if another process took over.
        """
        self._adopt_once()
        self._reader.refresh()
        topic, now_ms = self._topic.view, self._clock()
        if is_lost(self._reader.version, topic.entries):
            return
        if now_ms - self._computed_ms >= _ANEW_MS:
            self._table.renew_side(self._side, now_ms)
            self._forget_deletions(now_ms)
            self._reader.retry_unreadable()
            self.compute_anew()
        current = self._current()
        unread = self._reader.unread
        found = self._compared(current, topic.entries, unread)
        records = due(found, self._force, self._published_ms, self._began_ms, now_ms)
        # Of unread tenants it may lack something: a pipe without which nodes would lose events.
        last = {} if topic.complete or unread or not completes(found, records) else COMPLETE
        if records or last:
            self._publish({**records, **last})
            self._note(found, records, now_ms)
            self._await(records, complete=topic.complete or bool(last))
        self._metrics.looked(self._reader.version, _waiting(found, records))
        self._say(current)

    def compute_anew(self) -> None:
        """Forget all memoised results; the next look computes them again and publishes the same records."""
        for each in (self._rolling_out, self._opened, self._compared, self._newest):
            each.forget()
        self._computed_ms = self._clock()

    def _forget_deletions(self, now_ms: int) -> None:
        stored, used = self._reader.documents, self._nodes.usage(now_ms)
        old = forgettable(stored, self._topic.view.entries, self._topic.offset, used, now_ms)
        self._reader.forget(islice(old, _MOST_FORGOTTEN))

    def _current(self) -> Sequence[StoredDocument]:
        """The newest versions as the nodes are to see them; the same object until one changes."""
        pipes = self._rolling_out(self._reader.documents)
        self._want_rollouts(pipes)
        states = self._rollouts() if pipes else {}
        if states != self._states:
            self._states = states
        return self._opened(self._reader.documents, self._states)

    def _force(self, tenant: str) -> Force:
        newest = self._newest(self._topic.view.entries, self._topic.position)
        return force(newest.get(tenant, -1), self._nodes.usage(self._clock()))

    def _newest_offsets(self, entries: Entries, _position: int) -> Mapping[str, int]:
        """The offset of the record published last, by tenant. Unreadable records only move the position."""
        found: dict[str, int] = {}
        for key, entry in entries.items():
            tenant = entry.document.tenant
            found[tenant] = max(self._topic.offset(key), found.get(tenant, -1))
        return found

    def _say(self, current: Sequence[StoredDocument]) -> None:
        """Write how far the side is, if anything has changed since the last time."""
        at, entries, used = self._reader.version, self._topic.view.entries, self._nodes.usage(self._clock())
        if self._said is not None and self._said[1] is entries and self._said[::2] == (at, used):
            return
        written = self._statuses.write(judged(current, entries, self._topic.offset, used))
        self._said = (at, entries, used) if written else None

    def _adopt_once(self) -> None:
        """Take over a side that published its documents before there was a table."""
        if self._adopted:
            return
        if self._table.is_adopted(self._side):
            self._table.renew_side(self._side, self._clock())
            self._adopted = True
            return
        found = adopted(self._topic.view.entries, self._clock())
        _log.info("adopting the documents on the topic", extra={"documents": len(found)})
        self._table.adopt(self._side, found)

    def _note(self, found: Difference, records: Records, now_ms: int) -> None:
        """Remember when a tenant's documents changed, which its new sources wait for."""
        self._metrics.published(len(records))
        self._published_ms = {
            tenant: at_ms for tenant, at_ms in self._published_ms.items() if now_ms - at_ms < LIVE_MS
        }
        for key, entry in found.changed.items():
            self._published_ms[entry.document.tenant] = now_ms
            _log.info("published", extra={"document": key.decode(), "version": entry.version})
        for key in records.keys() - found.changed.keys():
            _log.info("deleted" if records[key] is None else "opened", extra={"document": key.decode()})

    def _await(self, records: Records, *, complete: bool) -> None:
        """Until the topic as it is read back holds the records, so that the next look compares with them."""
        entries = {key: None if value is None else decode_entry(value) for key, value in records.items()}
        deadline = time.monotonic() + _SEEN_SECONDS
        while not self._holds(entries, complete) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def _holds(self, entries: Mapping[bytes, Entry | None], complete: bool) -> bool:
        held = self._topic.view
        return held.complete == complete and all(held.entries.get(key) == e for key, e in entries.items())


def _waiting(found: Difference, records: Records) -> int:
    return sum(key not in records for key in found.opened)


def _rolling_out(documents: Sequence[StoredDocument]) -> Sequence[Pipe]:
    """The pipes that have a rollout."""
    found = (each.document for each in documents)
    return [each for each in found if isinstance(each, Pipe) and each.rollout is not None]


def _opened(
    documents: Sequence[StoredDocument], states: Mapping[str, RolloutState]
) -> Sequence[StoredDocument]:
    """The documents with the share of their rollouts."""
    return [as_published(each, states) for each in documents]
