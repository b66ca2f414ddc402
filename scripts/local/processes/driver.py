"""All Spark nodes in one process; on a cluster each is an application of its own.

`python -m scripts.local.processes.driver NODE ...` starts these nodes in this order. The queries are imported
late: that takes two seconds of a core, which a driver that has just taken over needs more.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from pydantic import Field

from shared.runtime.priority import lower_priority
from shared.runtime.settings import SparkSettings
from shared.spark.checkpoint_owners import acquired_lately, in_use

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
    if settings.rehearsal_port is None or settings.warm_file is None:
        from scripts.local.processes.chain_driver import run_alone  # noqa: PLC0415

        return run_alone(settings, nodes)
    hurry = _leave_the_cores(Path(settings.checkpoints))

    from scripts.local.processes.chain_driver import run_beside_another  # noqa: PLC0415

    return run_beside_another(
        settings, nodes, rehearsal_port=settings.rehearsal_port, warm_file=settings.warm_file, hurry=hurry
    )


def _leave_the_cores(checkpoints: Path) -> Callable[[], None]:
    """Wait while another driver recovers, then step back behind one at work; returns what ends that."""
    while acquired_lately(checkpoints, time.time(), _RECOVER_SECONDS):
        time.sleep(1)
    return lower_priority() if in_use(checkpoints) else lambda: None


if __name__ == "__main__":
    sys.exit(main(DriverSettings(), sys.argv[1:]))  # type: ignore[call-arg]  # from the environment
