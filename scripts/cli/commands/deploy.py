"""`hifi deploy`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data, Detach, TrafficOnly
from scripts.deployer.client import DeployerClient
from scripts.deployer.watch import followed
from shared.contracts.releases import Kind
from shared.runtime.clock import wall_clock


def deploy(
    version: Annotated[str, typer.Argument(help="What to deploy: a commit, a tag or a branch.")],
    detach: Detach = False,
    traffic_only: TrafficOnly = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Bring a version to the dark side, prove it, and move the traffic there step by step.

    A version that does worse than the one that serves is undone by itself (exit status 1).
    """
    client = DeployerClient(data, wall_clock)
    asked = client.ask(Kind.DEPLOY, version)
    followed(client, asked, detach=detach, traffic_only=traffic_only)
