"""The documents as a command reads and writes them: the table `documents`."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError
from msgspec import Struct

from shared.contracts.document_items import Change, DocumentKey, StoredDocument, VersionConflictError
from shared.dynamodb.client import StoreError
from shared.dynamodb.document_table import DocumentTable
from shared.runtime.clock import Clock
from shared.runtime.errors import OperatorError

_OPEN_SECONDS: Final = 20.0
_POLL_SECONDS: Final = 0.2


class DocumentsError(OperatorError):
    """The documents cannot be read or written; the text says why and what to do."""


class TableAddress(Struct, frozen=True, kw_only=True):
    """Where the documents of a side are."""

    side: str
    """The side's name."""

    table: str
    endpoint: str | None
    """URL of DynamoDB Local; None is AWS."""


class DocumentStore:
    """Every method raises DocumentsError if the table cannot be used."""

    def __init__(self, address: TableAddress, *, by: str, clock: Clock) -> None:
        """Read and write as `by`; `clock` gives the time of a write."""
        self._address, self._by, self._clock = address, by, clock
        try:
            self._table = DocumentTable(address.table, address.endpoint)
        except BotoCoreError as error:
            fix = "set HIFI_DOCUMENTS_ENDPOINT to the side's store, or AWS_REGION to that of its table"
            raise DocumentsError(f"table {address.table}: {error}", fix) from error

    def opened(self) -> bool:
        """Whether the provisioner has taken over what the side published before it had a table."""
        try:
            return self._table.is_adopted(self._address.side)
        except StoreError:
            return False

    def current(self) -> list[StoredDocument]:
        """The newest version of every document, deletions included.

        Waits until the provisioner has opened the table, which happens in the first seconds of a side.
        """
        _until(self.opened, _not_open(self._address))
        with _explained():
            return [each for tenant in self._table.catalogues() for each in self._table.documents(tenant)]

    def history(self, tenant: str, key: DocumentKey) -> list[StoredDocument]:
        """Every version of a document, newest first."""
        with _explained():
            return self._table.history(tenant, key)

    def write(self, tenant: str, changes: Sequence[Change]) -> list[StoredDocument]:
        """Make all of the changes, at most MOST_CHANGES, or none; gives the versions that were added.

        Raises:
            DocumentsError: also if somebody changed one of the documents since it was read.
        """
        with _explained():
            return self._table.write(tenant, changes, by=self._by, at_ms=self._clock())


def _until(ready: Callable[[], bool], problem: str) -> None:
    deadline = time.monotonic() + _OPEN_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise DocumentsError(problem, "`hifi doctor` shows whether its store and its provisioner run")
        time.sleep(_POLL_SECONDS)


def _not_open(address: TableAddress) -> str:
    where = address.endpoint or "AWS"
    return (
        f"the provisioner of side {address.side!r} has not opened the table {address.table} at {where} "
        f"within {_OPEN_SECONDS:.0f} s"
    )


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise DocumentsError(str(error), "`hifi doctor` shows whether the side's store runs") from error
    except VersionConflictError as error:
        found = f"at version {error.found}" if error.found else "gone"
        raise DocumentsError(
            f"nothing was written: {error.key} was changed by somebody else, and is now {found}",
            "read it, then try again",
        ) from error
