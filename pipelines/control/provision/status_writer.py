"""Writes to the table how far a side is with each document, where that has changed."""

from collections import defaultdict
from collections.abc import Iterable

from pipelines.control.provision.status import Judged
from shared.contracts.document_status import (
    DocumentStatus,
    State,
    document_and_side,
    status_key,
    status_partition,
)
from shared.dynamodb.item_store import ItemStore
from shared.runtime.clock import Clock


class StatusWriter:
    """Belongs to one thread. Raises StoreError.

    What is in force once stays so until it changes: a node that starts again first reads everything.
    """

    def __init__(self, items: ItemStore[DocumentStatus], side: str, clock: Clock) -> None:
        self._items, self._side, self._clock = items, side, clock
        self._written: dict[str, dict[str, DocumentStatus]] = {}
        """By tenant and `kind/name`; read from the table when a tenant is first written."""

    def __len__(self) -> int:
        """How many documents it knows the status of."""
        return sum(map(len, self._written.values()))

    def write(self, found: Iterable[Judged]) -> None:
        """Write what is not in the table yet, and forget what was said of documents that are not found.

        Args:
            found: every document, so that one that is missing is not in the catalogue any more.
        """
        now_ms, named = self._clock(), defaultdict[str, set[str]](set)
        for each in found:
            named[each.tenant].add(str(each.key))
            former = self._of(each.tenant).get(str(each.key))
            status = DocumentStatus(
                state=each.state, version=each.version, since_ms=now_ms, reason=each.reason
            )
            if status.says(former) or _fell_back(former, status):
                continue
            self._items.put(status_partition(each.tenant), status_key(str(each.key), self._side), status)
            self._written[each.tenant][str(each.key)] = status
        for tenant, known in self._written.items():
            for document in known.keys() - named[tenant]:
                self._items.delete(status_partition(tenant), status_key(document, self._side))
                del known[document]

    def _of(self, tenant: str) -> dict[str, DocumentStatus]:
        if tenant not in self._written:
            found = self._items.all(status_partition(tenant))
            items = [(document_and_side(sort), item) for sort, item in found]
            self._written[tenant] = {document: item for (document, side), item in items if side == self._side}
        return self._written[tenant]


def _fell_back(former: DocumentStatus | None, status: DocumentStatus) -> bool:
    return (
        former is not None
        and former.state is State.IN_FORCE
        and status.state is State.PUBLISHED
        and former.version == status.version
    )
