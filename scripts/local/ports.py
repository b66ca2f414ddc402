"""Free and busy ports of this machine."""

import contextlib
import os
import socket
from collections.abc import Iterable
from typing import Final

from scripts.local.addresses import HOST, PORTS
from shared.runtime.errors import OperatorError

_STRIDE: Final = 10_007
"""A prime that is greater than any number of blocks."""


class NoPortsError(OperatorError):
    """No range of ports is free for a side."""


def busy_ports(ports: Iterable[int]) -> list[int]:
    """Ports on which a process listens on the loopback address."""
    return [port for port in ports if is_busy(port)]


def is_busy(port: int) -> bool:
    """Whether a process listens on a port of the loopback address."""
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def free_base(start: int = 20_000, stop: int = 30_000, count: int = PORTS) -> int:
    """The base of a free range of ports below the ephemeral ones; each process starts to look elsewhere.

    Neighbouring process ids start _STRIDE blocks apart: prime, so that all blocks are some process's first.

    Raises:
        NoPortsError: if there is none.
    """
    blocks = (stop - start) // count
    for turn in range(blocks):
        base = start + (os.getpid() * _STRIDE + turn) % blocks * count
        if not busy_ports(range(base, base + count)):
            return base
    raise NoPortsError(
        f"no {count} free ports in a row between {start} and {stop}; end programs that listen there"
    )
