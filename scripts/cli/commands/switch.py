"""`hifi switch`."""

from scripts.cli.commands.options import DATA_DEFAULT, Data, Detach, TrafficOnly
from scripts.deployer.client import DeployerClient
from scripts.deployer.watch import followed
from shared.contracts.release_steps import Kind
from shared.runtime.clock import wall_clock


def switch(detach: Detach = False, traffic_only: TrafficOnly = False, data: Data = DATA_DEFAULT) -> None:
    """Move all traffic to the other side, with the version that serves now, and park the one it left."""
    client = DeployerClient(data, wall_clock)
    asked = client.ask(Kind.SWITCH)
    followed(client, asked, detach=detach, traffic_only=traffic_only)
