"""Asks the deployer, through the table that it follows, and reads how far it is."""

import getpass
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scripts.local.side import Side
from shared.contracts.diamond.activities import Activity
from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.contracts.release_requests import Request, RequestRefusedError
from shared.contracts.releases import Kind, Release, SideState
from shared.dynamodb.activity_reader import ActivityReader
from shared.dynamodb.client import StoreError
from shared.dynamodb.release_store import ReleaseStore
from shared.runtime.clock import Clock
from shared.runtime.errors import OperatorError

SILENT_MS: Final = 60_000
"""A deployer that has shown nothing for so long does not run."""


class DeployerClient:
    """The deployer of two sides. Methods raise OperatorError."""

    def __init__(self, data: Path, clock: Clock) -> None:
        """Those of the table that the environment names, or of the local sides in a folder."""
        self._table = os.environ.get("HIFI_DOCUMENTS_TABLE") or DOCUMENTS_TABLE
        self._endpoint = os.environ.get("HIFI_DOCUMENTS_ENDPOINT")
        if "HIFI_DOCUMENTS_TABLE" not in os.environ:
            self._endpoint = Side.load(data).store_url
        self._clock = clock
        self._store = ReleaseStore(self._table, self._endpoint)

    def ask(self, kind: Kind, version: str = "", *, replay: bool = False) -> Release:
        """Ask for a release, or for the end of one.

        Raises:
            OperatorError: if it does not fit what is under way, or no deployer runs.
        """
        self.awake_sides()
        asked = Request(kind=kind, version=version, replay=replay, by=getpass.getuser())
        try:
            with _explained():
                return self._store.request(asked, self._clock)
        except RequestRefusedError as error:
            raise OperatorError(str(error), "`hifi sides` shows what is under way") from error

    def current(self) -> Release | None:
        """The release that is under way, or that ended last."""
        with _explained():
            return self._store.current()

    def ended(self, limit: int) -> Sequence[Release]:
        """The last releases that have ended, newest first."""
        with _explained():
            return self._store.ended(limit)

    def sides(self) -> Sequence[SideState]:
        """What the deployer last saw of each side; empty if none ever ran."""
        with _explained():
            return self._store.sides()

    def awake_sides(self) -> Sequence[SideState]:
        """The same.

        Raises:
            OperatorError: if no deployer has shown anything for a while.
        """
        found = self.sides()
        if not found or self._clock() - max(each.at_ms for each in found) > SILENT_MS:
            raise OperatorError(
                "no deployer runs", "`hifi up --twins` starts one beside two local sides; see docs/control.md"
            )
        return found

    def activities(self, side: str) -> Sequence[Activity]:
        """Who acts on a side."""
        with _explained():
            reader = ActivityReader(self._table, self._endpoint, side=side, monotonic=lambda: 0.0)
            return reader.look().activities


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise OperatorError(f"{error}", "`hifi doctor` shows whether the local sides run") from error
