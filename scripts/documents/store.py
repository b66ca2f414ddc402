"""The documents as a command reads and writes them: the table `documents`."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError
from msgspec import Struct

from shared.contracts.document_items import (
    Change,
    DocumentKey,
    NameTakenError,
    StoredDocument,
    TooManyChangesError,
    VersionConflictError,
)
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

    def __init__(
        self, address: TableAddress, *, by: str, clock: Clock, open_seconds: float = _OPEN_SECONDS
    ) -> None:
        """Read and write as `by`, once the provisioner has opened the table.

        Args:
            address: where the table is.
            by: who writes.
            clock: gives the time of a write.
            open_seconds: how long to wait for the provisioner.
        """
        self._address, self._by, self._clock, self._open_seconds = address, by, clock, open_seconds
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
        self._await_opened()
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

    def _await_opened(self) -> None:
        deadline = time.monotonic() + self._open_seconds
        while not self.opened():
            if time.monotonic() > deadline:
                where = f"{self._address.table} at {self._address.endpoint or 'AWS'}"
                raise DocumentsError(
                    f"the provisioner of side {self._address.side!r} has not opened the table {where} within "
                    f"{self._open_seconds:.0f} s",
                    "`hifi doctor` shows whether its store and its provisioner run",
                )
            time.sleep(_POLL_SECONDS)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise DocumentsError(str(error), "`hifi doctor` shows whether the side's store runs") from error
    except (NameTakenError, TooManyChangesError) as error:
        raise DocumentsError(f"nothing was written: {error}") from error
    except VersionConflictError as error:
        found = f"at version {error.found}" if error.found else "gone"
        raise DocumentsError(
            f"nothing was written: {error.key} was changed by somebody else, and is now {found}",
            "read it, then try again",
        ) from error
