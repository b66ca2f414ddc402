"""Programs of the edge before two local sides: HAProxy, the store that both sides use, the deployer."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scripts.local.process_marks import OF_SIDE, PROGRAM
from scripts.local.processes import dynamodb_local
from scripts.local.processes.program import Program, unless_set
from scripts.local.processes.programs import STORE
from scripts.local.twins.place import Edge, Twins
from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.runtime.errors import OperatorError

HAPROXY: Final = "haproxy"
DEPLOY: Final = "deploy"
FOLDER: Final = "HIFI_TWINS"
"""Environment variable by which the deployer finds the twins: their folder."""

WARM_UP: Final = "HIFI_WARM_UP_SECONDS"
"""Most seconds of warm-up when the deployer starts a side."""

INSTALL: Final = "scripts/setup.sh edge, or apt-get install haproxy"

QUICK: Final = {
    "HIFI_WATCH_MINUTES": "2",
    "HIFI_HALF_MINUTES": "1",
    "HIFI_SWITCH_SECONDS": "60",
    "HIFI_LINGER_SECONDS": "5",
}
"""Shorter times of the deployer on one machine, where no name is cached; the environment overrides them."""

_SYSTEM_FOLDERS: Final = "/usr/local/sbin:/usr/sbin"
"""Where distributions put it, which are not on every user's path."""


class NoHaproxyError(OperatorError):
    """HAProxy is not installed; the text says how to install it."""


def haproxy() -> str | None:
    """Path of HAProxy; None if it is not installed."""
    return shutil.which(HAPROXY, path=f"{os.environ.get('PATH', '')}:{_SYSTEM_FOLDERS}")


def haproxy_command(edge: Edge) -> list[str]:
    """The command line of HAProxy in the foreground; SIGUSR2 makes it read its configuration again.

    Raises:
        NoHaproxyError: if it is not installed.
    """
    found = haproxy()
    if found is None:
        raise NoHaproxyError("haproxy not found, which twins need", INSTALL)
    return [found, "-W", "-db", "-f", str(edge.configuration)]


def edge_programs(twins: Twins, store_jars: Path, warm_up_seconds: float) -> list[Program]:
    """The store, HAProxy and the deployer, in the order of starting.

    Raises:
        NoHaproxyError: if HAProxy is not installed.
        JavaMissingError: if there is no Java.
    """
    edge = twins.edge
    store = dynamodb_local.command(edge.store_folder, edge.store_port, edge.temporary, store_jars)
    return [
        _program(edge, STORE, store, order=10),
        _program(edge, HAPROXY, haproxy_command(edge), order=20),
        _deploy(twins, warm_up_seconds),
    ]


def _deploy(twins: Twins, warm_up_seconds: float) -> Program:
    settings = {
        **unless_set(QUICK),
        "HIFI_BACKEND": "scripts.local.twins.backend:local_backend",
        FOLDER: str(twins.root),
        WARM_UP: str(warm_up_seconds),
        "HIFI_PORT": str(twins.edge.deploy_port),
        "HIFI_DOCUMENTS_ENDPOINT": twins.edge.store_url,
        "HIFI_DOCUMENTS_TABLE": DOCUMENTS_TABLE,
    }
    command = [sys.executable, "-m", "pipelines.control.deploy"]
    return _program(twins.edge, DEPLOY, command, order=30, settings=settings)


def _program(
    edge: Edge, name: str, command: list[str], *, order: int, settings: Mapping[str, str] | None = None
) -> Program:
    marks = {"TMPDIR": str(edge.temporary), OF_SIDE: str(edge.root), PROGRAM: name}
    return Program(
        name=name,
        command=command,
        environment={**marks, **(settings or {})},
        group=name,
        order=order,
        start_seconds=1,
        stop_seconds=10,
    )
