"""Restarts a broker of a side, as a patch of its machine does."""

from typing import Final

from scripts.local.processes.supervisor import Supervisor
from scripts.local.side import Side
from shared.kafka.admin import wait_in_sync

RESTART_SECONDS: Final = 420.0
"""A little longer than a restart takes at most: the stop, the start, and the wait for the replicas."""


def restart_broker(side: Side, broker: str) -> None:
    """Stop a broker and start it again; returns once every replica of the side is in sync.

    It is started also if it does not stop in time.

    Raises:
        OperatorError: if that takes too long.
    """
    supervisor = Supervisor(side)
    try:
        supervisor.stop_program(broker)
    finally:
        supervisor.start_program(broker)
    wait_in_sync(side.bootstrap)
