"""A deployer of two sides that do not exist, as a process of its own."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Final

from shared.contracts.release_steps import Step
from tests.harness import fast_deployer as fast
from tests.harness.service_process import Running, ServiceProcess

_LIMITS: Final = (
    "HIFI_OUTCOME_SECONDS",
    "HIFI_PROVE_SECONDS",
    "HIFI_READY_SECONDS",
    "HIFI_RELEASE_WAIT_SECONDS",
    "HIFI_RETRIES_SECONDS",
    "HIFI_WATCH_SECONDS",
)
_NEVER: Final = "1000000000"
"""Seconds of a clock that runs fast: a busy machine fails no release."""


class DeployProcess(ServiceProcess):
    """One deployer, with a short lease. `tests.harness.fast_deployer` runs in it."""

    program = fast.__name__

    def __init__(
        self,
        endpoint: str,
        table: str,
        place: Path,
        log: Path,
        *,
        speed: float,
        start: float,
        lease: float = 1,
        go: Path | None = None,
        patience: float = 60,
        watch_minutes: int = 1,
        passed: Collection[Step] = tuple(Step),
    ) -> None:
        """Start it.

        Args:
            endpoint: URL of DynamoDB Local.
            table: the documents' table.
            place: the file of the sides.
            log: the file of its output.
            speed: how many times faster than real time its clock of releases runs.
            start: epoch seconds at which that clock and real time agree.
            lease: seconds of silence after which another deployer leads, and after that may act.
            go: weights are not set until this file exists.
            patience: seconds of real time that one look at the sides may take.
            watch_minutes: minutes with traffic before the share rises to half.
            passed: it is held in the midst of the first other step.
        """
        self._held = log.with_suffix(".held")
        settings = {
            "HIFI_BACKEND": f"{fast.__name__}:{fast.fake_backend.__name__}",
            "HIFI_DOCUMENTS_TABLE": table,
            "HIFI_DOCUMENTS_ENDPOINT": endpoint,
            "HIFI_DEPLOY_SECONDS": "0.1",
            "HIFI_LEASE_SECONDS": str(lease),
            "HIFI_ACTIVITY_SECONDS": str(lease),
            "HIFI_LONGEST_RELEASE_LOOK_SECONDS": str(patience),
            "HIFI_WATCH_MINUTES": str(watch_minutes),
            "HIFI_HALF_MINUTES": "1",
            "HIFI_SWITCH_SECONDS": "60",
            "HIFI_BAKE_MINUTES": "1",
            **dict.fromkeys(_LIMITS, _NEVER),
            fast.PLACE: str(place),
            fast.SPEED: str(speed),
            fast.START: str(start),
            fast.GO: str(go or log.parent),
            fast.PASSED: json.dumps(list(passed)),
            fast.HELD: str(self._held),
        }
        super().__init__(log, settings)

    def held(self) -> Step | None:
        """The step in which it is held; None while it goes on. Fails if the process has ended."""
        assert self.process.poll() is None, self.log.read_text()
        return Step(self._held.read_text()) if self._held.exists() else None

    def _start(self) -> Running:
        return self._forked(fast.run_deployer)
