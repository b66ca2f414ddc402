"""Programs of a local side: brokers, the documents, the data plane's services and the meter."""

import os
import sys
from typing import Final

from scripts.local.addresses import BROKER_IDS
from scripts.local.jars import Jars
from scripts.local.kafka import brokers
from scripts.local.processes import dynamodb_local
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.program import Program, side_environment, unless_set
from scripts.local.processes.spark_programs import SPARK, cluster, drivers
from scripts.local.side import Side
from shared.contracts.document_items import DOCUMENTS_TABLE

BROKERS: Final = tuple(f"broker-{broker}" for broker in BROKER_IDS)
COLLECT: Final = "collect"
RETRY: Final = "retry"
STORE: Final = "store"
PROVISION: Final = "provision"
API: Final = "api"
OBSERVE: Final = "observe"
CONSOLE: Final = "console"
CANARY: Final = "canary"
TRACE: Final = "trace"

SERVICES: Final = (SPARK, RETRY, COLLECT)
"""The data plane beside the brokers, the slowest to start first. The driver also runs audit."""

DOCUMENTS: Final = (STORE, PROVISION)
"""The documents' table, which is also the meter's store, and what publishes them. Twins share the first."""

METER: Final = (OBSERVE, CONSOLE)
"""Programs of the meter, in the order of starting."""

CHAIN: Final = ("transmit_slow", "transmit", "route", "ingest")
"""Queries of the data plane in the order of starting: the last of the chain first."""

AUDIT: Final = "audit"
"""The meter's query, started last."""

CANARY_PAUSE_SECONDS: Final = 2_400
"""Longest pause of a canary after its start: longer than its side takes to start, which ends the pause.
Events that come while the side is slow would count as customers', and hold the warm-up's load back."""

_FIRST: Final = "first"
"""Stopped before collect, so that the canary's events arrive and none waits in a retry topic."""

_FRONT: Final = "front"
_MIDDLE: Final = "middle"

_ENDS: Final = {_FIRST: (40, 10), _FRONT: (30, 30), _MIDDLE: (25, 30)}
"""Order and stop_seconds of a group of services."""


def programs(side: Side, jars: Jars, profile: SideProfile) -> list[Program]:
    """Everything of a side, in the order of starting; audit runs if the profile has the meter."""
    return [
        *(_broker(side, broker, jars) for broker in BROKER_IDS),
        *(cluster(side, jars) if side.workers else ()),
        *drivers(side, jars, queries_of(profile)),
        _retry(side),
        _collect(side),
        *([] if side.shared else [_store(side, jars)]),
        _provision(side),
        _api(side),
        _observe(side),
        _console(side),
        _canary(side),
        *([_trace(side)] if traced() else []),
    ]


def programs_of(profile: SideProfile) -> frozenset[str]:
    """The programs that are started on a side beside its brokers and its documents."""
    chain = frozenset((*SERVICES, API))
    return chain if profile is SideProfile.CHAIN else chain | {*METER, CANARY}


def queries_of(profile: SideProfile) -> tuple[str, ...]:
    """The queries of a side's driver, in the order of starting."""
    return CHAIN if profile is SideProfile.CHAIN else (*CHAIN, AUDIT)


def traced() -> bool:
    """Whether trace runs: the environment names a receiver of spans."""
    return bool(os.environ.get("HIFI_OTLP_ENDPOINT"))


def _broker(side: Side, broker: int, jars: Jars) -> Program:
    name = BROKERS[broker - 1]
    return Program(
        name=name,
        command=brokers.command(side, broker, jars.broker),
        environment=side_environment(side, name),
        # All at once: a broker's controlled shutdown needs two live controllers.
        group="brokers",
        order=10,
        start_seconds=3,
        stop_seconds=20,
    )


def _store(side: Side, jars: Jars) -> Program:
    return Program(
        name=STORE,
        command=dynamodb_local.command(side.store_folder, side.store_port, side.temporary, jars.store),
        environment=side_environment(side, STORE),
        # After observe and the provisioner, which write to it when they stop.
        group="engine",
        order=20,
        start_seconds=2,
        stop_seconds=10,
    )


def _retry(side: Side) -> Program:
    return _service(side, RETRY, "pipelines.data.retry", _MIDDLE, {"HIFI_PORT": str(side.retry_port)})


def _provision(side: Side) -> Program:
    settings = {
        "HIFI_PORT": str(side.provision_port),
        "HIFI_DOCUMENTS_ENDPOINT": side.store_url,
        "HIFI_DOCUMENTS_TABLE": DOCUMENTS_TABLE,
        "HIFI_OBSERVE_URL": side.observe_url,
    }
    return _service(side, PROVISION, "pipelines.control.provision", _MIDDLE, settings)


def _api(side: Side) -> Program:
    settings = {
        "HIFI_PORT": str(side.api_port),
        "HIFI_DOCUMENTS_ENDPOINT": side.store_url,
        "HIFI_DOCUMENTS_TABLE": DOCUMENTS_TABLE,
        "HIFI_TOKEN_FILE": str(side.token_file),
        "HIFI_OBSERVE_URL": side.observe_url,
    }
    return _service(side, API, "pipelines.management.api", _MIDDLE, settings)


def _observe(side: Side) -> Program:
    settings = {
        "HIFI_PORT": str(side.observe_port),
        "HIFI_STORE_ENDPOINT": side.store_url,
        "HIFI_DOCUMENTS_TABLE": DOCUMENTS_TABLE,
        "HIFI_DOCUMENTS_ENDPOINT": side.store_url,
        **(_of_twins(side) if side.shared else {}),
    }
    return _service(
        side, OBSERVE, "pipelines.control.observe", _MIDDLE, settings | dynamodb_local.client_environment()
    )


def _of_twins(side: Side) -> dict[str, str]:
    """A release waits for settled minutes, which may settle sooner where there is one clock."""
    return {"HIFI_STORE_TABLE": f"hifi-meter-{side.name}", **unless_set({"HIFI_SETTLE_SECONDS": "30"})}


def _collect(side: Side) -> Program:
    return _service(side, COLLECT, "pipelines.data.collect", _FRONT, {"HIFI_PORT": str(side.collect_port)})


def _console(side: Side) -> Program:
    settings = {
        "HIFI_PORT": str(side.console_port),
        "HIFI_OBSERVE_URL": side.observe_url,
        "HIFI_API": side.api_url,
    }
    return _service(side, CONSOLE, "pipelines.management.console", _FRONT, settings)


def _canary(side: Side) -> Program:
    settings = {
        "HIFI_PORT": str(side.canary_port),
        "HIFI_COLLECT_URL": side.collect_url,
        "HIFI_CANARY_PAUSE_SECONDS": str(CANARY_PAUSE_SECONDS),
    }
    return _service(side, CANARY, "pipelines.control.canary", _FIRST, settings)


def _trace(side: Side) -> Program:
    return _service(side, TRACE, "pipelines.control.trace", _MIDDLE, {"HIFI_PORT": str(side.trace_port)})


def _service(side: Side, name: str, module: str, group: str, settings: dict[str, str]) -> Program:
    """A program that is a Python module."""
    order, stop_seconds = _ENDS[group]
    return Program(
        name=name,
        command=[sys.executable, "-m", module],
        environment=side_environment(side, name) | settings,
        group=group,
        order=order,
        start_seconds=1,
        stop_seconds=stop_seconds,
    )
