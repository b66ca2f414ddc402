"""All Spark nodes in one process; on a cluster each is an application of its own.

`python -m scripts.local.processes.driver NODE ...` starts these nodes. What it imports takes three seconds of
a core: all of it is imported late, as a driver that has just taken over needs the cores more, and the queries
while the JVM starts.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import Field

from shared.runtime.priority import lower_priority
from shared.runtime.settings import SparkSettings
from shared.spark.checkpoint_owners import acquired_lately, in_use

if TYPE_CHECKING:
    from shared.spark.application import Operation

_RECOVER_SECONDS: Final = 40.0
"""After another driver took over, a new one leaves it the cores for so long."""


class DriverSettings(SparkSettings):
    """Settings of a driver that may have another one beside it."""

    rehearsal_port: int | None = Field(
        None, description="Port for the destination of a rehearsal; without it the driver is the only one."
    )
    warm_file: Path | None = Field(
        None, description="Written, with the process's id, while the driver waits to take over."
    )


def main(settings: DriverSettings, nodes: Sequence[str]) -> int:
    """Run the queries of these nodes; returns the exit status."""
    make = _alone(settings, nodes)
    if settings.rehearsal_port is not None and settings.warm_file is not None:
        make = _beside_another(settings, nodes, settings.rehearsal_port, settings.warm_file)

    from shared.spark.application import run_operation  # noqa: PLC0415

    return run_operation("spark", settings, make)


def _alone(settings: DriverSettings, nodes: Sequence[str]) -> "Callable[[], Operation]":
    def make() -> "Operation":
        from scripts.local.processes.chain_driver import alone  # noqa: PLC0415

        return alone(settings, nodes)

    return make


def _beside_another(
    settings: DriverSettings, nodes: Sequence[str], rehearsal_port: int, warm_file: Path
) -> "Callable[[], Operation]":
    """Waits until the other driver does not need the cores most."""
    hurry = _leave_the_cores(Path(settings.checkpoints))

    def make() -> "Operation":
        from scripts.local.processes.chain_driver import beside_another  # noqa: PLC0415

        return beside_another(
            settings, nodes, rehearsal_port=rehearsal_port, warm_file=warm_file, hurry=hurry
        )

    return make


def _leave_the_cores(checkpoints: Path) -> Callable[[], None]:
    """Wait while another driver recovers, then step back behind one at work; returns what ends that."""
    while acquired_lately(checkpoints, time.time(), _RECOVER_SECONDS):
        time.sleep(1)
    return lower_priority() if in_use(checkpoints) else lambda: None


if __name__ == "__main__":
    sys.exit(main(DriverSettings(), sys.argv[1:]))  # type: ignore[call-arg]  # from the environment
