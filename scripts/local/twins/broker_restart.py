"""Restarts a broker of a side, as a patch of its machine does."""

from scripts.local.processes.supervisor import Supervisor
from scripts.local.side import Side
from shared.kafka.admin import wait_in_sync


def restart_broker(side: Side, broker: str) -> None:
    """Stop a broker and start it again; returns once every replica of the side is in sync.

    Raises:
        OperatorError: if that takes too long.
    """
    supervisor = Supervisor(side)
    supervisor.stop_program(broker)
    supervisor.start_program(broker)
    wait_in_sync(side.bootstrap)
