"""Programs of the edge before two local sides: HAProxy, and the store that both sides use."""

import os
import shutil
from pathlib import Path
from typing import Final

from scripts.local.process_marks import OF_SIDE, PROGRAM
from scripts.local.processes import dynamodb_local
from scripts.local.processes.programs import STORE, Program
from scripts.local.twins.place import Edge
from shared.runtime.errors import OperatorError

HAPROXY: Final = "haproxy"
INSTALL: Final = "scripts/setup.sh edge, or apt-get install haproxy"

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


def edge_programs(edge: Edge, store_jars: Path) -> list[Program]:
    """HAProxy and the store.

    Raises:
        NoHaproxyError: if HAProxy is not installed.
        BrokerError: if there is no Java.
    """
    store = dynamodb_local.command(edge.store_folder, edge.store_port, edge.temporary, store_jars)
    return [
        _program(edge, STORE, store, order=10),
        _program(edge, HAPROXY, haproxy_command(edge), order=20),
    ]


def _program(edge: Edge, name: str, command: list[str], *, order: int) -> Program:
    return Program(
        name=name,
        command=command,
        environment={"TMPDIR": str(edge.temporary), OF_SIDE: str(edge.root), PROGRAM: name},
        group=name,
        order=order,
        start_seconds=1,
        stop_seconds=10,
    )
