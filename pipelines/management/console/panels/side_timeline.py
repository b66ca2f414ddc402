"""Draws activities on the side and its stability, on the time axis of the chart below."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from nicegui import ui

from pipelines.management.console import formatting
from pipelines.management.console.charts import GUTTER, MARGIN
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import table, write
from pipelines.management.console.poller import Snapshot
from shared.contracts.diamond.activities import Actor
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.timeline import ActivitySpan, Health, HealthSpan, Timeline

_SHOWN: Final = 100
"""Spans that are drawn, and rows of the table, the newest."""

_LEAST: Final = 3
"""Pixels of the shortest bar: what began in this minute, past the end of the axis, is seen at its end."""

_TITLE: Final = "Who acted, and how stable the side was, as a table"
_KEY: Final = (Health.STABLE, Health.UNSTABLE, Health.UNKNOWN)


class Axis(NamedTuple):
    """The axis of a chart by minute, with the first and the last minute at its ends."""

    first: int
    """Epoch minute."""

    last: int

    def place(self, at_ms: int) -> float:
        """Where a moment is, percent of the width; moments outside are at the ends."""
        at = (at_ms / MINUTE_MS - self.first) / max(1, self.last - self.first)
        return round(100 * min(1.0, max(0.0, at)), 3)


def rows(found: Timeline, axis: Axis, now_ms: int) -> Markup:
    """The drawing: a row for the side, and one for each who acted. What it shows is in the table as text."""
    shown = newest_first(found)[:_SHOWN][::-1]
    activities = [each for each in shown if isinstance(each, ActivitySpan)]
    acted = {each.actor for each in activities}
    side = [
        _bar(each, each.health.replace(" ", "-"), "", _health_text(each), axis, now_ms)
        for each in shown
        if isinstance(each, HealthSpan)
    ]
    lines = [_line("side", side)]
    lines += [
        _line(actor, (_bar(each, "acting", each.phase or each.action, _acted(each), axis, now_ms)
                      for each in activities if each.actor is actor))
        for actor in Actor if actor in acted
    ]  # fmt: skip
    key = (tag("li", tag("i", class_=f"bar {each.replace(' ', '-')}"), f"side {each}") for each in _KEY)
    left = _left_out(len(found.activities) + len(found.health))
    return tag(
        "div", *lines, tag("ul", *key, class_="legend"), left, class_="timeline", aria_hidden="true",
        style=f"--gutter: {GUTTER}px; --margin: {MARGIN}px", data_testid="timeline",
    )  # fmt: skip


def _line(name: str, bars: Iterable[Markup]) -> Markup:
    return tag(
        "div", tag("span", name, class_="who"), tag("div", *bars, class_="bars"), class_="line", data_row=name
    )


def _bar(  # noqa: PLR0913, PLR0917  # what a bar is made of
    span: HealthSpan | ActivitySpan, style: str, label: str, title: str, axis: Axis, now_ms: int
) -> Markup:
    left = axis.place(span.from_ms)
    width = axis.place(now_ms if span.until_ms is None else span.until_ms) - left
    place = f"left: min({left}%, 100% - {_LEAST}px); width: {max(0.0, width):.3f}%"
    return tag("span", label, class_=f"bar {style}", style=place, title=title)


def spans_table(found: Timeline) -> Markup:
    """Everything as text, the newest first."""
    spans = newest_first(found)
    if not spans:
        return tag("p", "Nothing is known of this time.", class_="empty")
    return joined(
        table(
            "timeline-table",
            ["Who", "What", "From, UTC", "To, UTC", "Why"],
            [_row(each) for each in spans[:_SHOWN]],
        ),
        _left_out(len(spans)),
    )


def newest_first(found: Timeline) -> Sequence[HealthSpan | ActivitySpan]:
    """All spans; of two that begin together, the one that ended last comes first."""
    spans: list[HealthSpan | ActivitySpan] = [*found.health, *found.activities]
    return sorted(spans, key=lambda each: each.from_ms)[::-1]


def _left_out(spans: int) -> Markup | None:
    """How many of the spans are too many to be shown."""
    more = spans - _SHOWN
    return tag("p", f"{formatting.count(more)} older ones are left out.", class_="note") if more > 0 else None


def _row(span: HealthSpan | ActivitySpan) -> Markup:
    who, what, why = _words(span)
    until = "now" if span.until_ms is None else formatting.exact_moment(span.until_ms)
    return tag(
        "tr",
        tag("th", who, scope="row"),
        tag("td", what),
        tag("td", formatting.exact_moment(span.from_ms)),
        tag("td", until),
        tag("td", why or formatting.NONE, class_="long"),
    )


def _words(span: HealthSpan | ActivitySpan) -> tuple[str, str, str]:
    """The actor, the action and the reason of a span."""
    if isinstance(span, HealthSpan):
        return "side", span.health, "; ".join(span.reasons)
    return span.actor, f"{span.action}, {span.phase}" if span.phase else span.action, span.reason


def _acted(span: ActivitySpan) -> str:
    who, what, why = _words(span)
    return f"{who}: {what} ({why}){_times(span)}"


def _health_text(span: HealthSpan) -> str:
    why = f": {'; '.join(span.reasons)}" if span.reasons else ""
    return f"side {span.health}{_times(span)}{why}"


def _times(span: HealthSpan | ActivitySpan) -> str:
    until = "now" if span.until_ms is None else formatting.clock_time(span.until_ms)
    return f", {formatting.clock_time(span.from_ms)} to {until}"


class SideTimeline:
    """The drawing."""

    def __init__(self) -> None:
        self._rows = write(Markup())

    def show(self, snapshot: Snapshot) -> None:
        """Update it."""
        axis = Axis(snapshot.first_minute, snapshot.last_minute)
        self._rows.content = rows(snapshot.timeline, axis, snapshot.at_ms)


class SideTimelineTable:
    """The same as text, behind a switch that stays as it is."""

    def __init__(self) -> None:
        with ui.element("details").classes("as-table"):
            ui.html(tag("span", _TITLE), sanitize=False, tag="summary")
            self._table = write(Markup())

    def show(self, snapshot: Snapshot) -> None:
        """Update it."""
        self._table.content = spans_table(snapshot.timeline)
