"""Follows a release until it has ended."""

import time
from collections.abc import Callable
from typing import Final

import typer
from rich.live import Live

from scripts.deployer.client import DeployerClient
from scripts.deployer.view import ending, release_view
from scripts.terminal import INTERRUPTED, err, out, printable
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError

_SECONDS: Final = 1.0
_Enough = Callable[[Release], bool]
"""Whether to look no further."""


def followed(client: DeployerClient, asked: Release, *, detach: bool, traffic_only: bool = False) -> None:
    """Show a release with its steps, live on a terminal and a line a step elsewhere; not if detached.

    Args:
        client: the deployer's.
        asked: the release, as it was asked for.
        detach: whether to return at once.
        traffic_only: whether to return when no traffic is moved any more.

    Raises:
        OperatorError: if it was undone, or left something unfinished.
        Exit: with the status of an interruption, if Ctrl-C ends the view.
    """
    if detach:
        err().print("asked for; `hifi sides` shows how far it is")
        return
    show = _live if err().is_terminal else _lines
    try:
        release = show(client, asked, _rests if traffic_only else _ended)
    except KeyboardInterrupt as error:
        err().print("the release goes on; `hifi sides` shows how far it is, `hifi rollback` undoes it")
        raise typer.Exit(INTERRUPTED) from error
    said = printable(ending(release, wall_clock()))
    if ((release.back or release.step is Step.UNDONE) and not asked.back) or release.unfinished:
        raise OperatorError(said, "`hifi sides --releases 5` lists the last ones")
    out().print(said, markup=False)


def _rests(release: Release) -> bool:
    return release.traffic_rests


def _ended(release: Release) -> bool:
    return release.ended


def _live(client: DeployerClient, asked: Release, enough: _Enough) -> Release:
    with Live(console=err(), refresh_per_second=4) as live:
        return _until(client, asked, enough, lambda each: live.update(release_view(each, wall_clock())))


def _lines(client: DeployerClient, asked: Release, enough: _Enough) -> Release:
    printed = 0

    def show(release: Release) -> None:
        nonlocal printed
        for each in release.log[printed:]:
            took = (each.until_ms - each.since_ms) / 1_000
            err().print(f"{each.step} ({took:.0f} s): {printable(each.said)}", markup=False, soft_wrap=True)
        printed = max(printed, len(release.log))

    return _until(client, asked, enough, show)


def _until(
    client: DeployerClient, asked: Release, enough: _Enough, show: Callable[[Release], None]
) -> Release:
    while True:
        release = client.current()
        assert release is not None
        if release.number != asked.number:  # ended, and another was asked for since
            return next(each for each in client.ended(20) if each.number == asked.number)
        show(release)
        if enough(release):
            return release
        time.sleep(_SECONDS)
