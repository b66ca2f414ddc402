"""Writes to the table how far a side is with each document, where that has changed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

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
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


class _Written(NamedTuple):
    """The status that the table has of a document."""

    status: DocumentStatus | None
    """None if there is none, or none that this version can read."""

    revision: int


_NOTHING: Final = _Written(None, 0)


class StatusWriter:
    """Belongs to one thread. Raises StoreError.

    What is in force once stays so until it changes: a node that starts again first reads everything.

    It writes over nothing that it has not seen: another process may have led while this one was suspended.
    """

    def __init__(self, items: ItemStore[DocumentStatus], side: str, clock: Clock) -> None:
        self._items, self._side, self._clock = items, side, clock
        self._written: dict[str, dict[str, _Written]] = {}
        """Written statuses, by tenant and `kind/name`; loaded from the table at a tenant's first write."""

    def __len__(self) -> int:
        """How many documents it knows the status of."""
        return sum(map(len, self._written.values()))

    def write(self, found: Iterable[Judged]) -> bool:
        """Write what is not in the table yet, and forget what was said of documents that are not found.

        Args:
            found: every document, so that one that is missing is not in the catalogue any more.

        Returns:
            Whether the table has all of it; False if another process wrote, which may know more than this
            one. The next call reads what that wrote.
        """
        now_ms, named = self._clock(), defaultdict[str, set[str]](set)
        for each in found:
            document = str(each.key)
            named[each.tenant].add(document)
            former = self._of(each.tenant).get(document, _NOTHING)
            status = DocumentStatus(
                state=each.state, version=each.version, since_ms=now_ms, reason=each.reason
            )
            if status.says(former.status) or _fell_back(former.status, status):
                continue
            if not self._put(each.tenant, document, status, former.revision):
                return self._give_way(each.tenant)
        return self._withdraw(named)

    def _put(self, tenant: str, document: str, status: DocumentStatus, revision: int) -> bool:
        place = status_partition(tenant), status_key(document, self._side)
        if not self._items.put_after(*place, status, revision):
            return False
        self._written[tenant][document] = _Written(status, revision + 1)
        return True

    def _withdraw(self, named: Mapping[str, AbstractSet[str]]) -> bool:
        """Delete what was said of other documents than these; the result is that of `write`."""
        for tenant, known in self._written.items():
            for document in known.keys() - named.get(tenant, frozenset()):
                place = status_partition(tenant), status_key(document, self._side)
                if not self._items.delete_after(*place, known[document].revision):
                    return self._give_way(tenant)
                del known[document]
        return True

    def _give_way(self, tenant: str) -> bool:
        """Forget what the table had of a tenant."""
        del self._written[tenant]
        _log.warning("another provisioner wrote how far the side is: reading that", extra={"tenant": tenant})
        return False

    def _of(self, tenant: str) -> Mapping[str, _Written]:
        if tenant not in self._written:
            self._written[tenant] = {}
            for sort, status, revision in self._items.revisions(status_partition(tenant)):
                document, side = document_and_side(sort)
                if side == self._side:
                    self._written[tenant][document] = _Written(status, revision)
        return self._written[tenant]


def _fell_back(former: DocumentStatus | None, status: DocumentStatus) -> bool:
    return (
        former is not None
        and former.state is State.IN_FORCE
        and status.state is State.PUBLISHED
        and former.version == status.version
    )
