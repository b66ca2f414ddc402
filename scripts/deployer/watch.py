"""Follows a release until it has ended."""

import time
from collections.abc import Callable
from typing import Final

from rich.live import Live

from scripts.deployer.client import DeployerClient
from scripts.deployer.view import ending, release_view
from scripts.terminal import err, out, printable
from shared.contracts.releases import Release, Step
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError

_SECONDS: Final = 1.0


def followed(client: DeployerClient, asked: Release, *, detach: bool) -> None:
    """Show a release with its steps, live on a terminal and a line a step elsewhere; not if detached.

    Raises:
        OperatorError: if it was undone.
    """
    if detach:
        err().print("asked for; `hifi sides` shows how far it is")
        return
    show = _live if err().is_terminal else _lines
    try:
        release = show(client, asked)
    except KeyboardInterrupt:
        err().print("the release goes on; `hifi sides` shows how far it is, `hifi rollback` undoes it")
        return
    said = printable(ending(release, wall_clock()))
    if release.step is not Step.DONE and not _as_wanted(asked, release):
        raise OperatorError(said, "`hifi sides --releases 5` lists the last ones")
    out().print(said, markup=False)


def _as_wanted(asked: Release, release: Release) -> bool:
    """Whether it was undone on request."""
    return bool(asked.back) and release.step is Step.UNDONE


def _live(client: DeployerClient, asked: Release) -> Release:
    with Live(console=err(), refresh_per_second=4) as live:
        return _until_ended(client, asked, lambda each: live.update(release_view(each, wall_clock())))


def _lines(client: DeployerClient, asked: Release) -> Release:
    printed = 0

    def show(release: Release) -> None:
        nonlocal printed
        for each in release.log[printed:]:
            took = (each.until_ms - each.since_ms) / 1_000
            err().print(f"{each.step} ({took:.0f} s): {printable(each.said)}", markup=False, soft_wrap=True)
        printed = max(printed, len(release.log))

    return _until_ended(client, asked, show)


def _until_ended(client: DeployerClient, asked: Release, show: Callable[[Release], None]) -> Release:
    while True:
        release = client.current()
        assert release is not None
        if release.number != asked.number:  # ended, and another was asked for since
            return next(each for each in client.ended(20) if each.number == asked.number)
        show(release)
        if release.ended:
            return release
        time.sleep(_SECONDS)
