"""`hifi deploy`."""

from typing import Annotated

import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data, Detach, TrafficOnly
from scripts.deployer.client import DeployerClient
from scripts.deployer.watch import followed
from shared.contracts.release_steps import Kind
from shared.runtime.clock import wall_clock


def deploy(
    version: Annotated[
        str,
        typer.Argument(
            help="What to deploy: on two local sides a commit, or a tag or a branch, whose commit of this "
            "moment is deployed; in AWS the name of a stored version."
        ),
    ],
    canary_tenants: Annotated[
        str,
        typer.Option(
            "--canary-tenants",
            metavar="NAMES",
            help="Customers, separated by commas, whose events are its first traffic, in the place of a "
            "share of all. The edge has to know them: two local sides do, those in AWS do not.",
        ),
    ] = "",
    detach: Detach = False,
    traffic_only: TrafficOnly = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Bring a version to the dark side, prove it, and move the traffic there step by step.

    A version that does worse than the one that serves is undone by itself (exit status 1).
    """
    client = DeployerClient(data, wall_clock)
    tenants = dict.fromkeys(name.strip() for name in canary_tenants.split(",") if name.strip())
    asked = client.ask(Kind.DEPLOY, version, canary_tenants=tuple(tenants))
    followed(client, asked, detach=detach, traffic_only=traffic_only)
