"""A release and both sides as tables. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scripts.terminal import plain_table, printable
from scripts.time_args import duration_text, utc_text
from shared.contracts.release_steps import BACKWARD, Kind, Step
from shared.contracts.releases import Finding, Passed, Release
from shared.contracts.sides import DeployerStatus, SideReport, Sides, SideStatus, state_of

_COLOURS: Final = {Finding.GOOD: "green", Finding.EARLY: "yellow", Finding.BAD: "red"}
_STATES: Final = {
    SideStatus.STABLE: "green",
    SideStatus.UNSTABLE: "red",
    SideStatus.PARKED: "dim",
    SideStatus.UNKNOWN: "yellow",
}
_UNKNOWN: Final = "not known"
_COMMIT: Final = re.compile("[0-9a-f]{40}")
_SHORT: Final = 12
"""Characters of a commit that are shown; git knows it by them."""


def release_view(release: Release, now_ms: int) -> RenderableType:
    """Its steps with their times and what came of each, its last verdict, and what it waits for.

    Args:
        release: as the table has it.
        now_ms: now, epoch milliseconds.
    """
    parts: list[RenderableType] = [_title(release), _steps(release, now_ms)]
    if release.verdicts and release.verdicts[-1].finding is not Finding.GOOD:
        last = release.verdicts[-1]
        parts.append(Text(f"{last.step}: {last.finding}", style=_COLOURS[last.finding]))
    parts += [Text(f"waits: {printable(each)}", style="yellow") for each in release.waits]
    if release.back:
        parts.append(Text(f"undone: {printable(release.back)}", style="red"))
    if release.unfinished:
        parts.append(Text(f"unfinished: {printable(release.unfinished)}", style="red"))
    return Group(*parts)


def ending(release: Release, now_ms: int) -> str:
    """How a release ended, or where it is once its traffic rests, in a sentence."""
    lasted = duration_text((now_ms - release.asked_ms) / 1_000)
    left = f"; {release.unfinished}" if release.unfinished else ""
    if release.step is Step.DONE:
        return f"done in {lasted}: {_short(release.version)} on {release.target}{left}"
    if not release.back and not release.ended:
        serves = f"{_short(release.version)} on {release.target}"
        return f"serves after {lasted}: {serves}; {release.step} goes on{left}"
    return f"undone after {lasted}: {release.back}; {_serves(release)}{left}"


def sides_view(sides: Sequence[SideReport]) -> RenderableType:
    """The sides: version, share of the traffic, stability, what is left, last load test, who acts."""
    table = plain_table(
        "SIDE", "VERSION", "TRAFFIC", "STATE", "UNREAD", "RETRIES", "LOAD TEST", "SEEN, UTC", ""
    )
    for each in sides:
        said = [str(activity) for activity in each.activities]
        said += [each.problem] if each.problem else each.reasons
        table.add_row(
            each.side,
            Text(_UNKNOWN if each.version is None else printable(_short(each.version) or "none")),
            _UNKNOWN if each.share is None else f"{each.share} %",
            Text(state_of(each), style=_STATES[state_of(each)]),
            _UNKNOWN if each.unread is None else f"{each.unread:,} records",
            _UNKNOWN if each.waiting is None else f"{each.waiting:,} events",
            _rating(each),
            utc_text(each.at_ms),
            Text(printable("; ".join(said))),
        )
    return table


def deployer_text(found: Sides) -> str:
    """A sentence on where the figures come from while no deployer runs."""
    if found.deployer is DeployerStatus.NONE:
        return "no deployer runs: the side speaks for itself; see docs/control.md"
    newest = max(each.at_ms for each in found.sides)
    return f"the deployer is silent since {utc_text(newest)}: this is what it last saw"


def history_view(releases: Sequence[Release]) -> RenderableType:
    """The last releases, newest first."""
    table = plain_table("NUMBER", "WHAT", "ASKED BY", "ASKED, UTC", "ENDED", "WHY")
    for each in releases:
        what = Text(printable(f"{each.kind} {_short(each.version)}"))
        why = Text(printable("; ".join(filter(None, (each.back, each.unfinished)))))
        table.add_row(str(each.number), what, Text(each.asked_by), utc_text(each.asked_ms), each.step, why)
    return table


def _serves(release: Release) -> str:
    """A sentence on the version that has the traffic, and where, after a release that was undone."""
    if not release.former:
        return "nothing was changed"
    last = release.log[-1].step if release.ended and release.log else None
    if last is Step.WAKE:  # the former side did not start
        return f"{_short(release.version)} serves on {release.target}"
    if last is not None and last not in BACKWARD and _may_have_moved(release, last):
        return "the traffic is left as it was; `hifi sides` shows where"
    return f"{_short(release.former_version)} serves on {release.former}"


def _may_have_moved(release: Release, last: Step) -> bool:
    """Whether the former side may have none, or half, although the release made no step back.

    At START only traffic that was moved by hand ends a release without one.
    """
    return release.kind in (Kind.ROLLBACK, Kind.BURST_OFF) or release.opened or last is Step.START


def _short(version: str) -> str:
    """A version as it is shown: of a whole commit its beginning."""
    return version[:_SHORT] if _COMMIT.fullmatch(version) else version


def _title(release: Release) -> Text:
    where = f" on {release.target}" if release.target else ""
    first = f", first for {', '.join(release.canary_tenants)}" if release.canary_tenants else ""
    text = f"{release.kind} {_short(release.version)}{where}{first}, asked for by {release.asked_by}"
    return Text(printable(text), style="bold")


def _steps(release: Release, now_ms: int) -> Table:
    table = plain_table("STEP", "BEGAN, UTC", "TOOK", "")
    for each in release.log:
        table.add_row(*_passed(each))
    if release.ended:
        table.add_row(Text(release.step, style="green" if release.step is Step.DONE else "red"))
        return table
    lasted = duration_text((now_ms - release.since_ms) / 1_000)
    began, said = utc_text(release.since_ms), Text(printable(release.said))
    table.add_row(Text(release.step, style="bold"), began, lasted, said)
    for step in release.to_come:
        table.add_row(Text(step, style="dim"))
    return table


def _passed(each: Passed) -> tuple[str, str, str, Text]:
    took = duration_text((each.until_ms - each.since_ms) / 1_000)
    return each.step, utc_text(each.since_ms), took, Text(printable(each.said))


def _rating(side: SideReport) -> str:
    if side.rating is None or side.rating_p95_ms is None:
        return _UNKNOWN
    return f"{side.rating:,.0f} events/s, p95 {side.rating_p95_ms:,.0f} ms"
