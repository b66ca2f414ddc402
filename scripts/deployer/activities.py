"""The register of a side's activities, for people at a command line."""

import getpass
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.deployer.side_address import SideAddress, side_address
from shared.contracts.side_weights import LOCAL
from shared.dynamodb.activity_register import ActivityRegister
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
