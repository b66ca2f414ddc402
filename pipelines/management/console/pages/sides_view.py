"""Both sides, who acts, and their releases as HTML. Pure. Names and reasons are others' text."""

from collections.abc import Iterable, Sequence
from typing import Final

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import amount, badge, number, table
from shared.contracts.diamond.activities import Activity
from shared.contracts.release_steps import Step
from shared.contracts.releases import Finding, Release, Verdict
from shared.contracts.sides import DeployerStatus, SideReport, Sides, SideStatus, state_of

_UNKNOWN: Final = "not known"
_STATES: Final = {
    SideStatus.STABLE: "kept",
    SideStatus.UNSTABLE: "far",
    SideStatus.PARKED: "none",
    SideStatus.UNKNOWN: "missed",
}
_FINDINGS: Final = {Finding.GOOD: "kept", Finding.EARLY: "missed", Finding.BAD: "far"}
_SIDES: Final = (
    "Side", "State", amount("Traffic"), "Version", amount("Unread"), amount("Retries"), "Load test",
    "Seen, UTC",
)  # fmt: skip


def deployer_note(found: Sides) -> str:
    """How far the figures can be trusted."""
    match found.deployer:
        case DeployerStatus.RUNS:
            return "As the deployer sees them."
        case DeployerStatus.SILENT:
            newest = formatting.exact_moment(max((each.at_ms for each in found.sides), default=0))
            return f"The deployer is silent since {newest} UTC: this is what it last saw."
        case DeployerStatus.NONE:
            return "No deployer runs: the side speaks for itself."


def sides_table(sides: Sequence[SideReport]) -> Markup:
    """A row a side; why one is not stable is said below."""
    return joined(
        table("sides", _SIDES, [_side_row(each) for each in sides]),
        *(_why(each) for each in sides if each.problem or each.reasons),
    )


def _side_row(each: SideReport) -> Markup:
    unread = _UNKNOWN if each.unread is None else formatting.counted(each.unread, "record")
    waiting = _UNKNOWN if each.waiting is None else formatting.counted(each.waiting, "event")
    version = _UNKNOWN if each.version is None else each.version or "none"
    return tag(
        "tr",
        tag("th", each.side, scope="row"),
        tag("td", badge(state_of(each), _STATES[state_of(each)])),
        number(_UNKNOWN if each.share is None else f"{each.share} %", "share"),
        tag("td", version, class_="long", data_name="version"),
        number(unread, "unread"),
        number(waiting, "waiting"),
        tag("td", _rating(each), data_name="rating"),
        tag("td", formatting.exact_moment(each.at_ms)),
        data_side=each.side,
    )


def _rating(each: SideReport) -> str:
    if each.rating is None or each.rating_p95_ms is None:
        return _UNKNOWN
    return f"{formatting.rate(each.rating)}, p95 {formatting.lag(each.rating_p95_ms)}"


def _why(each: SideReport) -> Markup:
    title = f"{each.side} could not be asked" if each.problem else f"Why {each.side} is not stable"
    return _reasons(title, [each.problem] if each.problem else each.reasons)


def _reasons(title: str, reasons: Iterable[str]) -> Markup:
    return joined(tag("h3", title), tag("ul", *(tag("li", each) for each in reasons), class_="reasons"))


def actors_table(sides: Sequence[SideReport]) -> Markup:
    """A table of the actors on each side, and of the actors that wait."""
    rows = [_actor_row(side.side, "acts", each) for side in sides for each in side.activities]
    rows += [_actor_row(side.side, "waits", each) for side in sides for each in side.wishes]
    if not rows:
        return tag("p", "No activity is under way, and none waits.", class_="empty")
    return table("actors", ["Side", "State", "Who", "What", "Why", "How far", "Since, UTC"], rows)


def _actor_row(side: str, state: str, each: Activity) -> Markup:
    return tag(
        "tr",
        tag("th", side, scope="row"),
        tag("td", badge(state, "accent" if state == "acts" else "missed")),
        tag("td", each.actor.value),
        tag("td", each.action.value),
        tag("td", each.reason, class_="long"),
        tag("td", each.phase or formatting.NONE, class_="long"),
        tag("td", formatting.exact_moment(each.since_ms)),
        data_actor=each.id,
    )


def release_part(release: Release | None, now_ms: int) -> Markup:
    """The present release: its steps with their times, what it waits for, and the verdicts."""
    if release is None:
        return tag("p", "No release yet: hifi deploy, in a terminal, begins one.", class_="empty")
    titles = ["Step", "State", "Took", "Began, UTC", "What came of it"]
    return joined(
        tag("p", _progress(release), tag("span", _what(release)), class_="said-of"),
        _reasons("Undone, because", [release.back]) if release.back else None,
        _reasons("Unfinished", [release.unfinished]) if release.unfinished else None,
        _reasons("Waits, because", release.waits) if release.waits and not release.ended else None,
        table("release-steps", titles, _step_rows(release, now_ms)),
        tag("h3", "Verdicts") if release.verdicts else None,
        _verdicts(release.verdicts) if release.verdicts else None,
    )


def _progress(release: Release) -> Markup:
    if release.ended:
        return badge(f"ended: {release.step}", "kept" if release.step is Step.DONE else "far")
    return badge("being undone" if release.back else "under way", "missed" if release.back else "accent")


def _what(release: Release) -> str:
    where = f" on {release.target}" if release.target else ""
    asked = f"asked for by {release.asked_by} at {formatting.exact_moment(release.asked_ms)} UTC"
    return f"Number {release.number}: {release.kind} {release.version}".rstrip() + f"{where}, {asked}"


def _step_rows(release: Release, now_ms: int) -> list[Markup]:
    rows = [
        _step_row(each.step, badge("over", "good"), each.since_ms, each.until_ms, each.said)
        for each in release.log
    ]
    if release.ended:
        style = "kept" if release.step is Step.DONE else "far"
        return [*rows, _step_row(release.step, badge("the end", style), release.since_ms, None, "")]
    rows.append(
        _step_row(release.step, badge("now", "accent"), release.since_ms, now_ms, release.said, "step")
    )
    rows += [_step_row(step, badge("to come", "to-come"), None, None, "") for step in release.to_come]
    return rows


def _step_row(  # noqa: PLR0913, PLR0917  # a cell each
    step: Step,
    state: Markup,
    since_ms: int | None,
    until_ms: int | None,
    said: str,
    current: str | None = None,
) -> Markup:
    lasted = since_ms is not None and until_ms is not None
    return tag(
        "tr",
        tag("th", step.value, scope="row"),
        tag("td", state),
        tag("td", _lasted(since_ms or 0, until_ms or 0) if lasted else formatting.NONE),
        tag("td", formatting.NONE if since_ms is None else formatting.exact_moment(since_ms)),
        tag("td", said, class_="long"),
        aria_current=current,
        data_step=step.value,
    )


def _verdicts(verdicts: Sequence[Verdict]) -> Markup:
    return tag("ul", *(_verdict(each) for each in verdicts), class_="alarms verdicts", data_testid="verdicts")


def _verdict(each: Verdict) -> Markup:
    minutes = f"minutes {formatting.clock_minute(each.first)} to {formatting.clock_minute(each.last)}"
    at = f"{each.step}, {formatting.exact_moment(each.at_ms)} UTC" + (f", {minutes}" if each.first else "")
    return tag(
        "li",
        tag("p", badge(each.finding.value, _FINDINGS[each.finding]), tag("span", at, class_="quiet")),
        *(tag("p", words) for words in each.words),
        data_finding=each.finding.value,
    )


def ended_table(ended: Sequence[Release]) -> Markup:
    """The last releases, newest first."""
    if not ended:
        return tag("p", "No release has ended yet.", class_="empty")
    titles = [
        "Number",
        "Ended",
        "What",
        "Side",
        "Asked by",
        "Asked, UTC",
        "Took",
        "Why, and the last verdict",
    ]
    return table("ended", titles, [_ended_row(each) for each in ended])


def _ended_row(each: Release) -> Markup:
    verdict = each.verdicts[-1] if each.verdicts else None
    why = [text for text in (each.back, each.unfinished) if text]
    why += [f"{verdict.step}: {verdict.finding}"] if verdict else []
    return tag(
        "tr",
        tag("th", str(each.number), scope="row"),
        tag("td", badge(each.step.value, "kept" if each.step is Step.DONE else "far")),
        tag("td", f"{each.kind} {each.version}".rstrip(), class_="long"),
        tag("td", each.target or formatting.NONE),
        tag("td", each.asked_by, class_="long"),
        tag("td", formatting.exact_moment(each.asked_ms)),
        tag("td", _lasted(each.asked_ms, each.since_ms)),
        tag("td", "; ".join(why) or formatting.NONE, class_="long"),
        data_release=each.number,
    )


def _lasted(since_ms: int, until_ms: int) -> str:
    return formatting.duration((until_ms - since_ms) / 1_000)
