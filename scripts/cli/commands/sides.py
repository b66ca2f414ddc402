"""`hifi sides`."""

from typing import Annotated

import msgspec
import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.deployer.client import DeployerClient
from scripts.deployer.view import history_view, release_view, sides_view
from scripts.terminal import out
from shared.runtime.clock import wall_clock


def sides(
    releases: Annotated[
        int, typer.Option(min=0, max=100, help="Also list so many of the last releases.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Show both sides: version, share of the traffic, stability, lag, rating, who acts, and the release."""
    client = DeployerClient(data, wall_clock)
    found, release = client.awake_sides(), client.current()
    ended = client.ended(releases) if releases else []
    if as_json:
        known = {"sides": found, "release": release, "ended": ended}
        typer.echo(msgspec.json.format(msgspec.json.encode(known)).decode())
        return
    activities = {each.side: client.activities(each.side) for each in found}
    out().print(sides_view(found, activities))
    if release is not None and not release.ended:
        out().print(release_view(release, wall_clock()))
    if ended:
        out().print(history_view(ended))
