"""`hifi sides`."""

from typing import Annotated

import msgspec
import typer

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.deployer.client import DeployerClient
from scripts.deployer.view import deployer_text, history_view, release_view, sides_view
from scripts.terminal import err, out
from shared.contracts.sides import DeployerStatus
from shared.runtime.clock import wall_clock


def sides(
    releases: Annotated[
        int, typer.Option(min=0, max=100, help="Also list so many of the last releases.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Show both sides: version, share of the traffic, stability, lag, rating, who acts, and the release."""
    found = DeployerClient(data, wall_clock).look(releases)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
        return
    out().print(sides_view(found.sides))
    if found.deployer is not DeployerStatus.RUNS:
        err().print(f"[yellow]{deployer_text(found)}[/]", soft_wrap=True)
    if found.release is not None and (found.release.unfinished or not found.release.ended):
        out().print(release_view(found.release, wall_clock()))
    if found.ended:
        out().print(history_view(found.ended))
