"""Asks the deployer, through the table that it follows, and reads how far it is."""

import getpass
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from scripts.deployer.side_address import side_address, stability_of
from scripts.local.twins.version_names import released_name
from shared.contracts.control_table import LEASES
from shared.contracts.release_requests import Request, RequestRefusedError
from shared.contracts.release_steps import Kind
from shared.contracts.releases import DEPLOYER, Release
from shared.contracts.sides import DeployerStatus, Sides, deployer_status
from shared.dynamodb.client import StoreError
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.dynamodb.lease_watch import beat_reader, moves
from shared.dynamodb.release_store import ReleaseStore
from shared.dynamodb.sides_reader import SidesReader
from shared.runtime.clock import Clock
from shared.runtime.errors import OperatorError

_BEAT_SECONDS: Final = 25.0
"""A living deployer renews its lease within 20: a third of HIFI_LEASE_SECONDS, which are 60 at most."""


class DeployerClient:
    """The deployer of two sides. Methods raise OperatorError."""

    def __init__(self, data: Path, clock: Clock, named: Callable[[str], str] = released_name) -> None:
        """Those of the table that the environment names, or of the local sides in a folder.

        `named` gives the name for good of a version of local sides.
        """
        address = side_address(data)
        self._clock = clock
        self._named = named if address.local else str
        self._store = ReleaseStore(address.table, address.endpoint)
        keys = {TENANT: LEASES, DOCUMENT: DEPLOYER}
        self._beat = beat_reader(address.table, address.endpoint, keys)
        self._reader = SidesReader(
            address.table, address.endpoint, own=address.side, health=partial(stability_of, data), clock=clock
        )

    def ask(
        self, kind: Kind, version: str = "", *, replay: bool = False, canary_tenants: Sequence[str] = ()
    ) -> Release:
        """Ask for a release, or for the end of one.

        Raises:
            OperatorError: if it does not fit what is under way, no deployer runs, or local sides have no such
                version.
        """
        with _explained():
            if not self._deployer_runs():
                raise _no_deployer()
        asked = Request(
            kind=kind,
            version=self._named(version) if version else "",
            replay=replay,
            canary_tenants=list(canary_tenants),
            by=getpass.getuser(),
        )
        try:
            with _explained():
                return self._store.request(asked, self._clock)
        except RequestRefusedError as error:
            raise OperatorError(str(error), "`hifi sides` shows what is under way") from error

    def _deployer_runs(self) -> bool:
        """Whether a deployer leads: it keeps its lease while a look takes so long that it shows nothing."""
        if deployer_status(self._store.sides(), self._clock()) is DeployerStatus.RUNS:
            return True
        try:
            return moves(self._beat, _BEAT_SECONDS, monotonic=time.monotonic, sleep=time.sleep)
        except StoreError:  # a role of an earlier stack may not read leases
            return False

    def current(self) -> Release | None:
        """The release that is under way, or that ended last."""
        with _explained():
            return self._store.current()

    def ended(self, limit: int) -> Sequence[Release]:
        """The last releases that have ended, newest first."""
        with _explained():
            return self._store.ended(limit)

    def look(self, ended: int) -> Sides:
        """Both sides, or the one that runs without a deployer, and the last `ended` releases.

        Raises:
            OperatorError: if no deployer ever ran, and it is not known which side is meant.
        """
        with _explained():
            found = self._reader.look(ended)
        if not found.sides:
            raise _no_deployer()
        return found


def _no_deployer() -> OperatorError:
    return OperatorError(
        "no deployer runs", "`hifi up --twins` starts one beside two local sides; see docs/releases.md"
    )


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise OperatorError(f"{error}", "`hifi doctor` shows whether the local sides run") from error
