"""The chain's queries in one process, with another driver beside it or without."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

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
from scripts.local.processes.topic_wait import wait_for_topics
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client, without_leader
from shared.runtime.settings import SparkSettings
from shared.spark.application import Alone
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
"""Order of starting for a driver that is warm: what takes longest to its first event at the front."""


def _wait_for_topics(settings: SparkSettings, stopping: threading.Event) -> None:
    """Return once each topic has its leaders, or when the driver is to stop.

    Starting Spark takes as long as starting the brokers, so on a local side both start at the same time.
    """
    wait_for_topics(partial(without_leader, admin_client(settings.bootstrap), Topic), stopping)


def _in_order(nodes: Sequence[str]) -> list[str]:
    return sorted(nodes, key=_FIRST.index)


def alone(settings: SparkSettings, nodes: Sequence[str]) -> Alone:
    """The queries of these nodes, started in this order, without another driver."""
    builds = [_BUILDS[node] for node in nodes if node not in _LATER]
    later = [_BUILDS[node] for node in nodes if node in _LATER]
    return Alone(builds, settings, wait=partial(_wait_for_topics, settings), later=later)


def chain_rehearsal(nodes: Sequence[str], settings: SparkSettings, port: int) -> ChainRehearsal:
    """A rehearsal of these nodes' queries.

    Args:
        nodes: in any order.
        settings: of the process.
        port: of its destination; 0 takes a free one.
    """
    return ChainRehearsal([_BUILDS[node] for node in _in_order(nodes)], settings, port)


def beside_another(
    settings: SparkSettings,
    nodes: Sequence[str],
    *,
    rehearsal_port: int,
    warm_file: Path,
    hurry: Callable[[], None],
) -> TwoDrivers:
    """The queries of these nodes, run when no other driver of the same checkpoints does; warm until then.

    Args:
        settings: of the process.
        nodes: in any order.
        rehearsal_port: of the rehearsal's destination.
        warm_file: written, with the process's id, while the driver waits to take over.
        hurry: called when it takes over.
    """
    builds = {node: _BUILDS[node] for node in _in_order(nodes)}
    prepares = {node: _PREPARES[node] for node in builds}
    rehearsal = chain_rehearsal(nodes, settings, rehearsal_port)
    return TwoDrivers(
        builds, settings, rehearsal, prepares=prepares, later=_LATER, warm_file=warm_file, hurry=hurry
    )
