"""The register of a side's activities, for people at a command line."""

import getpass
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.deployer.side_address import SideAddress, side_address
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.side_weights import LOCAL
from shared.dynamodb.activity_register import LEASE_SECONDS, ActivityRegister, Waits
from shared.dynamodb.client import StoreError
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError


@contextmanager
def activity_register(data: Path) -> Iterator[ActivityRegister]:
    """The register of the side that a folder or the environment names, in the user's name.

    Raises:
        OperatorError: if the table does not answer, also inside the block.
    """
    try:
        yield opened_register(side_address(data), f"person-{getpass.getuser()}")
    except StoreError as error:
        raise OperatorError(f"{error}", "`hifi doctor` shows whether a local side runs") from error


def opened_register(address: SideAddress, owner: str) -> ActivityRegister:
    """The register of a side; its methods raise StoreError."""
    return ActivityRegister(
        address.table,
        address.endpoint,
        side=address.side or LOCAL,
        owner=owner,
        clock=wall_clock,
        monotonic=time.monotonic,
    )


def begun_or_refused(  # noqa: PLR0913  # what, why and how
    register: ActivityRegister,
    action: Action,
    reason: str,
    health: Stability,
    *,
    forced: bool,
    lease_seconds: float = LEASE_SECONDS,
) -> Activity:
    """Begin an action, for a person who does not wait for it; arguments as of the register's method.

    Raises:
        OperatorError: if it would have to wait; no wish is left.
        StoreError: if the table does not answer.
    """
    found = register.begin_without_wish(action, reason, health, lease_seconds=lease_seconds, forced=forced)
    if isinstance(found, Waits):
        raise OperatorError(f"not begun: {'; '.join(found.reasons)}", "try again later, or --force")
    return found
