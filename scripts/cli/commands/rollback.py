"""`hifi rollback`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data, Detach, TrafficOnly
from scripts.deployer.client import DeployerClient
from scripts.deployer.watch import followed
from shared.contracts.release_steps import Kind
from shared.runtime.clock import wall_clock


def rollback(
    replay: Annotated[
        bool,
        typer.Option(
            "--replay",
            help="Let the good version process again what went through the bad one. Where it cannot mark "
            "them, the side goes on from where the bad one stopped, and the release says so.",
        ),
    ] = False,
    detach: Detach = False,
    traffic_only: TrafficOnly = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Undo the release that is under way, or go back to the side and version from before the last one."""
    client = DeployerClient(data, wall_clock)
    asked = client.ask(Kind.ROLLBACK, replay=replay)
    followed(client, asked, detach=detach, traffic_only=traffic_only)
