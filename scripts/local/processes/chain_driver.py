"""The chain's queries in one process, with another driver beside it or without."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from pipelines.control.audit.job import build as build_audit
from pipelines.control.audit.job import prepare as prepare_audit
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
from shared.runtime.settings import SparkSettings
from shared.spark.application import run_application, run_operation
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
    "audit": prepare_audit,
}

_LATER: Final = ("audit",)
"""Nodes that no event waits for."""

_FIRST: Final = ("route", "ingest", "transmit", "transmit_slow", "audit")
"""Order of starting when a driver takes over: what takes longest to its first event at the front."""

_LOOK_SECONDS: Final = 0.2


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


def run_alone(settings: SparkSettings, nodes: Sequence[str]) -> int:
    """Run the queries of these nodes, started in this order; returns the exit status."""
    builds = [_BUILDS[node] for node in nodes]
    return run_application("spark", settings, builds, partial(_wait_for_topics, settings))


def run_beside_another(
    settings: SparkSettings,
    nodes: Sequence[str],
    *,
    rehearsal_port: int,
    warm_file: Path,
    hurry: Callable[[], None],
) -> int:
    """Run the queries of these nodes when no other driver of the same checkpoints does; until then get warm.

    Args:
        settings: of the process.
        nodes: in any order.
        rehearsal_port: of the rehearsal's destination.
        warm_file: written, with the process's id, while the driver waits to take over.
        hurry: called when it takes over.

    Returns:
        The exit status.
    """
    builds = {node: _BUILDS[node] for node in sorted(nodes, key=_FIRST.index)}
    prepares = {node: _PREPARES[node] for node in builds}
    rehearsal = ChainRehearsal(list(builds.values()), settings, rehearsal_port)
    drivers = TwoDrivers(
        builds, settings, rehearsal, prepares=prepares, later=_LATER, warm_file=warm_file, hurry=hurry
    )
    return run_operation("spark", settings, drivers)
