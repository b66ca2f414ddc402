"""`hifi maintenance` and its subcommands."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from scripts.cli.commands.options import DATA_DEFAULT, Data
from scripts.deployer.activities import activity_register, begun_or_refused
from scripts.deployer.side_address import side_observe_url, stability_of
from scripts.scorecard.observe_client import query_observe
from scripts.terminal import err, out, plain_table, printable
from scripts.time_args import duration_seconds, utc_text
from shared.contracts.diamond.activities import Action, Activity, Actor, UnderWay
from shared.contracts.diamond.stability import Stability
from shared.runtime.errors import OperatorError, UsageError

GROUP = typer.Typer(no_args_is_help=True)


@GROUP.callback()
def maintenance() -> None:
    """Say that brokers or machines of the side are being patched, so that releases and rollouts wait.

    `hifi scale` adds workers meanwhile, and drains some only with --force; KEDA and the Cluster Autoscaler
    act at once.
    """


@GROUP.command("begin")
def begin(
    reason: Annotated[str, typer.Option(help="What is done, for those who wait: `kernel of broker 2`.")],
    lasting: Annotated[str, typer.Option("--for", help="It ends by itself after that: 30m, 2h.")] = "2h",
    force: Annotated[bool, typer.Option("--force", help="Do not wait for what is under way.")] = False,
    data: Data = DATA_DEFAULT,
) -> None:
    """Begin maintenance, or say what it would have to wait for (exit status 1).

    Lag alarms stay quiet meanwhile; alarms of loss do not.
    """
    try:
        seconds = duration_seconds(lasting)
    except ValueError as error:
        raise UsageError(f"--for: {error}") from error
    with activity_register(data) as register:
        begun_or_refused(
            register, Action.MAINTAIN, reason, stability_of(data), forced=force, lease_seconds=seconds
        )
    err().print(f"[dim]begun; `hifi maintenance end` ends it, or it ends in {lasting}[/]")


@GROUP.command("end")
def end(
    reason: Annotated[str | None, typer.Option(help="Of which: the reason that `begin` named.")] = None,
    data: Data = DATA_DEFAULT,
) -> None:
    """End the maintenance of the side; of several, the one with a reason."""
    with activity_register(data) as register:
        found = register.look().activities
        for each in _ended([each for each in found if each.actor is Actor.MAINTENANCE], reason):
            register.end(each)
            out().print(f"{printable(each.reason)} [green]ended[/]", highlight=False)


@GROUP.command("show")
def show(data: Data = DATA_DEFAULT) -> None:
    """Show whether the side is stable, what is under way, and who waits."""
    found = query_observe(side_observe_url(data), "/v1/activities", UnderWay)
    health = stability_of(data)
    out().print(_health(health))
    for reason in health.reasons:
        out().print(f"  {printable(reason)}", markup=False)
    table = plain_table("STATE", "ACTOR", "ACTION", "REASON", "PHASE", "SINCE, UTC")
    rows = [("under way", each) for each in found.activities] + [("waits", each) for each in found.wishes]
    for state, each in rows:
        said = (Text(printable(text)) for text in (each.reason, each.phase))
        table.add_row(state, each.actor, each.action, *said, utc_text(each.since_ms))
    out().print(table if rows else "nothing is under way")


def _ended(under_way: Sequence[Activity], reason: str | None) -> Sequence[Activity]:
    """The activities to end; another person's, or a release's, is not ended with them."""
    reasons = sorted({printable(each.reason) for each in under_way})
    if not reasons:
        raise OperatorError("no maintenance is under way", "`hifi maintenance show` lists what is")
    if reason is None and len(reasons) > 1:
        raise OperatorError(f"several are under way: {'; '.join(reasons)}", "name one with --reason")
    found = [each for each in under_way if reason in (None, each.reason)]
    if not found:
        raise OperatorError(f"--reason: none of this reason is under way, but {'; '.join(reasons)}")
    return found


def _health(found: Stability) -> str:
    if found.silent:
        return "whether the side is stable is [yellow]not known[/]"
    return "the side is [green]stable[/]" if found.stable else "the side is [red]not stable[/]"
