"""`hifi burst`."""

from enum import StrEnum
from typing import Annotated

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data, Detach, TrafficOnly
from scripts.deployer.client import DeployerClient
from scripts.deployer.watch import followed
from shared.contracts.release_steps import Kind
from shared.runtime.clock import wall_clock


class Wanted(StrEnum):
    """Whether both sides are to take traffic."""

    ON = "on"
    OFF = "off"


def burst(
    wanted: Annotated[
        Wanted, typer.Argument(help="on: both sides take half; off: the former one takes all.")
    ],
    detach: Detach = False,
    traffic_only: TrafficOnly = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Open both sides for a load above one side's rating, or end that."""
    client = DeployerClient(data, wall_clock)
    asked = client.ask(Kind.BURST if wanted is Wanted.ON else Kind.BURST_OFF)
    followed(client, asked, detach=detach, traffic_only=traffic_only)
