"""A deploy process: leads if no other does, and moves the present release on while it leads."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from uuid import uuid4

from pipelines.control.deploy.backend import Backend, FencedError
from pipelines.control.deploy.deployer import Deployer, health_of
from pipelines.control.deploy.metrics import DeployMetrics
from pipelines.control.deploy.operations import Operations
from pipelines.control.deploy.permissions import SidePermissions
from pipelines.control.deploy.settings import DeploySettings
from pipelines.control.deploy.side_states import side_states
from shared.contracts.control_table import LEASES
from shared.contracts.releases import DEPLOYER, Release
from shared.dynamodb.activity_register import ActivityRegister
from shared.dynamodb.client import StoreError
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.dynamodb.lease import Lease
from shared.dynamodb.release_store import ReleaseStore
from shared.dynamodb.renewed_lease import RENEWALS, RenewedLease
from shared.runtime.clock import Clock
from shared.runtime.health import health_served
from shared.runtime.logging import get_logger

NODE: Final = "deploy"
_SHOWN_SECONDS: Final = 5.0
"""So often the sides' states are written during a release."""

_IDLE_SECONDS: Final = 20.0
"""So often at other times."""

_log = get_logger(__name__)


class Deploy:
    """One process."""

    def __init__(self, settings: DeploySettings, clock: Clock, monotonic: Callable[[], float]) -> None:
        """Raises BackendError if the sides are not known."""
        self._settings, self._clock, self._monotonic = settings, clock, monotonic
        self._owner = f"{NODE}-{uuid4().hex[:12]}"
        self._place = (settings.documents_table, settings.documents_endpoint)
        self._backend = backend = settings.backend()
        self._store = ReleaseStore(*self._place)
        self._permissions = self._new_permissions(backend)
        self._deployer = Deployer(
            store=self._store,
            permissions=self._permissions,
            operations=Operations(backend, settings.policy, self._permissions.sure),
            policy=settings.policy,
            clock=clock,
            owner=self._owner,
        )
        self._lease = self._new_lease()
        self._metrics = DeployMetrics(clock)
        self._metrics.ready.set_function(lambda: all(self._report().values()))
        self._table_answers = self._leads = False
        self._shown_at, self._shown_of = float("-inf"), ""

    def run(self, stopping: threading.Event) -> None:
        """Serve and deploy until stopping.

        Raises:
            OSError: if the port is taken.
        """
        host, port = self._settings.host, self._settings.port
        with health_served(host, port, self._report, self._metrics.registry) as port:
            _log.info("serving", extra={"port": port})
            self._lease.start()
            pause = min(self._settings.deploy_seconds, self._settings.lease_seconds / RENEWALS)
            while not stopping.wait(pause):
                self._turn()
        self._let_go()
        self._lease.stop()

    def _new_permissions(self, backend: Backend) -> SidePermissions:
        registers = {
            side: ActivityRegister(
                *self._place, side=side, owner=self._owner, clock=self._clock, monotonic=self._monotonic
            )
            for side in backend.sides()
        }
        return SidePermissions(
            registers, partial(health_of, backend), self._monotonic, self._settings.activity_seconds
        )

    def _new_lease(self) -> RenewedLease:
        """Renewed on a thread of its own: a call to the sides must not cost the activities, nor the lead."""
        settings = self._settings
        lease = Lease(
            *self._place,
            keys={TENANT: LEASES, DOCUMENT: DEPLOYER},
            owner=self._owner,
            seconds=settings.lease_seconds,
            monotonic=self._monotonic,
        )
        return RenewedLease(
            lease,
            renew_seconds=min(settings.activity_seconds, settings.lease_seconds) / RENEWALS,
            work_seconds=settings.longest_release_look_seconds,
            monotonic=self._monotonic,
            also=self._permissions.beat,
        )

    def _report(self) -> Mapping[str, bool]:
        return {"table": self._table_answers}

    def _turn(self) -> None:
        try:
            self._leads = self._lease.held()
            self._table_answers = True
            while self._leads and self._deployer.turn():
                self._leads = self._lease.held()
            if not self._leads:
                self._permissions.let_go()  # or the one that leads would wait for them for ever
            release = self._store.current()
            if release is not None:
                self._metrics.show(release)
            if self._leads:
                self._show_sides(release)
        except StoreError as error:
            self._table_answers = False
            _log.warning("the table cannot be used, trying again", extra={"error": str(error)})
        except FencedError as error:
            self._leads = False  # the next turn lets go, if another one leads
            self._lease.doubt()
            _log.warning("another deployer took over", extra={"error": str(error)})
        except Exception:  # the next turn reads everything again
            _log.exception("a turn failed, trying again")
        self._metrics.leader.set(self._leads)

    def _show_sides(self, release: Release | None) -> None:
        """Write the sides' states now and then, and at once when a release begins or ends."""
        idle = release is None or release.ended
        shown_of = f"{release.number} {idle}" if release else ""
        recent = self._monotonic() - self._shown_at < (_IDLE_SECONDS if idle else _SHOWN_SECONDS)
        if recent and shown_of == self._shown_of:
            return
        for state in side_states(self._backend, self._clock()):
            self._store.put_side(state)
        self._shown_at, self._shown_of = self._monotonic(), shown_of

    def _let_go(self) -> None:
        """End the activities if it leads: the next process goes on without waiting for them."""
        if not self._leads:
            return
        try:
            self._permissions.let_go()
        except StoreError as error:
            _log.warning("activities are left to run out", extra={"error": str(error)})
