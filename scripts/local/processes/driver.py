"""All Spark nodes in one process; on a cluster each is an application of its own.

`python -m scripts.local.processes.driver NODE ...` starts these nodes in this order.
"""

import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from pydantic import Field

from pipelines.control.audit.job import build as build_audit
from pipelines.data.ingest.job import build as build_ingest
from pipelines.data.ingest.job import prepare as prepare_ingest
from pipelines.data.route.job import build as build_route
from pipelines.data.route.job import prepare as prepare_route
from pipelines.data.transmit.job import build as build_transmit
from pipelines.data.transmit.job import build_slow as build_transmit_slow
from pipelines.data.transmit.job import prepare as prepare_transmit
from pipelines.data.transmit.job import prepare_slow as prepare_transmit_slow
from scripts.local.processes.rehearsal import ChainRehearsal
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client, without_leader
from shared.runtime.priority import lower_priority
from shared.runtime.settings import SparkSettings
from shared.spark.application import run_application, run_operation
from shared.spark.checkpoint_locks import acquired_lately, in_use
from shared.spark.standby import TwoDrivers

_BUILDS: Final = {
    "transmit_slow": build_transmit_slow,
    "transmit": build_transmit,
    "route": build_route,
    "ingest": build_ingest,
    "audit": build_audit,
}

_PREPARES: Final = {
    "transmit_slow": prepare_transmit_slow,
    "transmit": prepare_transmit,
    "route": prepare_route,
    "ingest": prepare_ingest,
}
"""Nodes that an event waits for."""

_FIRST: Final = ("route", "ingest", "transmit", "transmit_slow", "audit")
"""Order of starting when a driver takes over: what takes longest to its first event at the front."""

_LOOK_SECONDS: Final = 0.2
_RECOVER_SECONDS: Final = 20.0
"""After another driver took over, a new one leaves it the cores for so long."""


class DriverSettings(SparkSettings):
    """Settings of a driver that may have another one beside it."""

    rehearsal_port: int | None = Field(
        None, description="Port for the destination of a rehearsal; without it the driver is the only one."
    )
    warm_file: Path | None = Field(
        None, description="Written, with the process's id, while the driver waits to take over."
    )


def _wait_for_topics(settings: SparkSettings, stopping: threading.Event) -> None:
    """Return once each topic has its leaders, or when the driver is to stop.

    Starting Spark takes as long as starting the brokers, so on a local side both start at the same time.
    """
    admin = admin_client(settings.bootstrap)
    while not stopping.is_set():
        with suppress(KafkaException):  # no broker answers yet
            if not without_leader(admin, Topic):
                return
        stopping.wait(_LOOK_SECONDS)


def _run(settings: DriverSettings, nodes: list[str]) -> int:
    builds = {node: _BUILDS[node] for node in nodes}
    if settings.rehearsal_port is None or settings.warm_file is None:
        return run_application("spark", settings, list(builds.values()), partial(_wait_for_topics, settings))
    builds = {node: builds[node] for node in sorted(builds, key=_FIRST.index)}
    checkpoints = Path(settings.checkpoints)
    while acquired_lately(checkpoints, time.time(), _RECOVER_SECONDS):
        time.sleep(1)
    hurry = lower_priority() if in_use(checkpoints) else lambda: None
    rehearsed = [build for node, build in builds.items() if node in _PREPARES]
    rehearsal = ChainRehearsal(rehearsed, settings, settings.rehearsal_port)
    drivers = TwoDrivers(
        builds, settings, rehearsal, prepares=_PREPARES, warm_file=settings.warm_file, hurry=hurry
    )
    return run_operation("spark", settings, drivers)


if __name__ == "__main__":
    sys.exit(_run(DriverSettings(), sys.argv[1:]))  # type: ignore[call-arg]  # from the environment
