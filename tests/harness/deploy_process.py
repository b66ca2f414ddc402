"""The deployer as a process over a fake place in a file, with a clock that runs fast.

`python -m tests.harness.deploy_process` is the process; FAKE_PLACE names the file, and FAKE_SPEED how many
times faster than real time the clock of releases runs.
"""

import os
import sys
import time
from pathlib import Path
from typing import Final

from pipelines.control.deploy.service import Deploy
from pipelines.control.deploy.settings import DeploySettings
from shared.runtime.clock import Clock
from shared.runtime.shutdown import stop_event
from tests.harness.fake_place import FakePlace
from tests.harness.service_process import ServiceProcess

_START: Final = "FAKE_START"
_GO: Final = "FAKE_GO"
_LIMITS: Final = (
    "HIFI_READY_SECONDS",
    "HIFI_PROVE_SECONDS",
    "HIFI_WATCH_SECONDS",
    "HIFI_RELEASE_WAIT_SECONDS",
)
_NEVER: Final = "1000000"
"""Seconds of a clock that runs fast: a busy machine fails no release."""


def fake_backend() -> FakePlace:
    """What HIFI_BACKEND names."""
    place, go = FakePlace(fast_clock(), Path(os.environ["FAKE_PLACE"])), Path(os.environ[_GO])

    def wait(name: str) -> None:
        while name == "set_weights" and not go.exists():
            time.sleep(0.02)

    place.before_call = wait
    return place


def fast_clock() -> Clock:
    """Epoch milliseconds that pass FAKE_SPEED times faster since FAKE_START."""
    start, speed = float(os.environ[_START]), float(os.environ["FAKE_SPEED"])
    return lambda: int(1_000 * (start + (time.time() - start) * speed))


class DeployProcess(ServiceProcess):
    """One deployer, with a short lease."""

    def __init__(
        self,
        endpoint: str,
        table: str,
        place: Path,
        log: Path,
        *,
        speed: float,
        start: float,
        go: Path | None = None,
        patience: float = 60,
        watch_minutes: int = 1,
    ) -> None:
        """Start it.

        Args:
            endpoint: URL of DynamoDB Local.
            table: the documents' table.
            place: the file of the sides.
            log: the file of its output.
            speed: how many times faster than real time its clock of releases runs.
            start: epoch seconds at which that clock and real time agree.
            go: weights are not set until this file exists.
            patience: seconds of real time that one look at the sides may take.
            watch_minutes: minutes with traffic before the share rises to half.
        """
        settings = {
            "HIFI_BACKEND": "tests.harness.deploy_process:fake_backend",
            "HIFI_DOCUMENTS_TABLE": table,
            "HIFI_DOCUMENTS_ENDPOINT": endpoint,
            "HIFI_DEPLOY_SECONDS": "0.1",
            "HIFI_LEASE_SECONDS": "1",
            "HIFI_ACTIVITY_SECONDS": "1",
            "HIFI_LONGEST_RELEASE_LOOK_SECONDS": str(patience),
            "HIFI_WATCH_MINUTES": str(watch_minutes),
            "HIFI_HALF_MINUTES": "1",
            "HIFI_BAKE_MINUTES": "1",
            **dict.fromkeys(_LIMITS, _NEVER),
            "FAKE_PLACE": str(place),
            "FAKE_SPEED": str(speed),
            _START: str(start),
            _GO: str(go or log.parent),
        }
        super().__init__("tests.harness.deploy_process", log, settings)


if __name__ == "__main__":
    settings = DeploySettings()  # type: ignore[call-arg]  # from the environment
    Deploy(settings, fast_clock(), time.monotonic).run(stop_event())
    sys.exit(0)
