"""The panels of today's minutes and of the last days."""

from datetime import date, timedelta

from pipelines.management.console import formatting, status_styles
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import Picked, badge, minute_map, panel, pickable, write
from pipelines.management.console.panels.heatmap import day_key, day_map, spent_minutes
from pipelines.management.console.poller import DAYS, Snapshot
from shared.contracts.scorecard import DayMark

_WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def days_map(marks: tuple[DayMark, ...], today: str, days: int) -> Markup:
    """The last days, one column a week, Monday on top; each can be clicked."""
    known = {mark.day: mark for mark in marks}
    last = date.fromisoformat(today)
    first = last - timedelta(days=days - 1)
    monday = first - timedelta(days=first.weekday())
    count = (last - monday).days + 1
    weekdays = [tag("span", name if at % 2 == 0 else "", class_="weekday") for at, name in enumerate(_WEEK)]
    cells = [_day(monday + timedelta(days=at), first, known) for at in range(count)]
    return tag("div", *weekdays, *cells, class_="days")


def _day(day: date, first: date, known: dict[str, DayMark]) -> Markup:
    if day < first:
        return tag("span")
    name = day.isoformat()
    mark = known.get(name)
    nines = mark.nines if mark else None
    title = f"{name}: no events" if mark is None or nines is None else _title(mark)
    return tag(
        "button",
        formatting.nines(nines).text if nines is not None else "",
        type="button",
        class_=f"day {status_styles.nines_style(nines)}",
        title=title,
        aria_label=title,
        data_pick=name,
        data_key=f"day-{name}",
    )


def _title(mark: DayMark) -> str:
    spent = formatting.counted(mark.spent, "minute")
    lost = formatting.counted(mark.lost, "event")
    return f"{mark.day}: {formatting.nines(mark.nines)}, {spent} spent, {lost} lost"


class Calendar:
    """The two panels."""

    def __init__(self, on_minute: Picked, on_day: Picked) -> None:
        """`on_minute` gets the minute of the day."""
        with panel(
            "today", "Today, minute by minute", "One row per hour, UTC; select a minute for details", span=7
        ):
            self._map = minute_map(on_minute)
            self._key = write(Markup())
            self._spent = pickable(on_minute)
        with panel("days", f"The last {DAYS} days, by nines", "Select a day for details", span=5):
            self._days = pickable(on_day)
            write(
                joined(
                    tag(
                        "p",
                        badge("three nines or more", "kept"),
                        badge("two to three", "missed"),
                        badge("fewer", "far"),
                        badge("no events", "none"),
                        class_="legend",
                    )
                )
            )

    def show(self, snapshot: Snapshot) -> None:
        """Update both panels."""
        first = formatting.first_minute(snapshot.day.day)
        self._map.content = day_map(snapshot.marks, first, snapshot.last_minute)
        self._key.content = day_key(snapshot.marks, first, snapshot.last_minute)
        self._spent.content = spent_minutes(snapshot.day.spent, first)
        self._days.content = days_map(snapshot.days, snapshot.day.day, DAYS)
