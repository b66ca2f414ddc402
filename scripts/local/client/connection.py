"""Addresses of the running side that a command talks to."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from scripts.local.side import Side
from scripts.local.twins.place import Twins, are_twins
from shared.contracts.bootstrap import IAM
from shared.runtime.errors import OperatorError


class NotRunningError(OperatorError):
    """No side is running; the text says how to start one."""


def side_bootstrap(data: Path) -> str:
    """Bootstrap servers: HIFI_BOOTSTRAP, or those of the local side in a folder.

    Raises:
        NoSideError: if there is no side.
        NotRunningError: if none of its brokers accepts a connection.
    """
    bootstrap = os.environ.get("HIFI_BOOTSTRAP") or Side.load(data).bootstrap
    if not any(_answers(address) for address in bootstrap.removeprefix(IAM).split(",")):
        raise NotRunningError(
            f"the side is not running: no broker answers at {bootstrap}; start it with `hifi up`"
        )
    return bootstrap


def collect_url(data: Path) -> str:
    """URL at which a customer of the local side posts events; of twins the edge's, which shares them.

    Raises:
        NoSideError, NoTwinsError: if there is no side, or the description of twins cannot be read.
    """
    return Twins.load(data).edge.events_url if are_twins(data) else Side.load(data).collect_url


def console_url(data: Path) -> str:
    """URL of the local side's console, of twins the edge's.

    Raises:
        NoSideError, NoTwinsError: as `collect_url`.
    """
    return Twins.load(data).edge.console_url if are_twins(data) else Side.load(data).console_url


def bootstraps(data: Path) -> Sequence[str]:
    """Bootstrap servers of each side that may have an event which was posted to `collect_url`.

    Raises:
        NoSideError, NoTwinsError: as `collect_url`.
    """
    sides = Twins.load(data).sides if are_twins(data) else [Side.load(data)]
    return [side.bootstrap for side in sides]


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=2.0):
            return True
    except (OSError, ValueError):
        return False
