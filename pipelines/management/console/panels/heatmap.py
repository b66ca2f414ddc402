"""A heat map of a day's 1,440 minutes, 24 rows of 60, with a legend that counts them. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.status_styles import MinuteStatus, Run, day_states, runs
from shared.contracts.scorecard import MinuteMark, SpentMinute

_HOURS = 24


def day_map(marks: Iterable[MinuteMark], first: int, last: int) -> Markup:
    """The map and its legend; `first` is the day's first epoch minute, `last` the newest one begun."""
    found = day_states(marks, first, last)
    cells = tag(
        "svg",
        *(_cell(run) for run in runs(found)),
        viewBox="0 0 60 24",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"Minutes of {formatting.day_of(first)}: {_title(found)}",
    )
    hours = tag("div", *(tag("span", f"{hour:02}") for hour in range(0, _HOURS, 3)), class_="hours")
    ticks = tag("div", *(tag("span", f":{minute:02}") for minute in range(0, 60, 15)), class_="ticks")
    return tag("div", hours, cells, tag("span"), ticks, class_="daymap")


def day_key(marks: Iterable[MinuteMark], first: int, last: int) -> Markup:
    """The legend: how many minutes are in each state."""
    found = Counter(day_states(marks, first, last))
    return tag("ul", *(_entry(state, found[state]) for state in MinuteStatus), class_="legend")


def spent_minutes(spent: Sequence[SpentMinute], first: int) -> Markup:
    """The spent minutes with reasons; `first` is the day's first epoch minute."""
    if not spent:
        return tag("p", "No minute is spent.", class_="caption")
    return tag("ul", *(_spent(each, first) for each in spent), class_="spent-list")


def _entry(state: MinuteStatus, minutes: int) -> Markup:
    dot = tag("i", class_=f"dot {state.style}", aria_hidden="true")
    count = tag("span", formatting.count(minutes), data_state=state.style)
    return tag("li", dot, tag("span", f"{state.value} ", count, " min"))


def _spent(each: SpentMinute, first: int) -> Markup:
    name = formatting.clock_minute(each.minute)
    button = tag(
        "button",
        name,
        type="button",
        class_="pick",
        data_pick=each.minute - first,
        data_key=f"spent-{each.minute}",
    )
    return tag("li", button, tag("span", " ".join(each.why)))


def _cell(run: Run) -> Markup:
    first, last = _clock(run.start), _clock(run.start + run.length - 1)
    title = tag("title", f"{first if run.length == 1 else f'{first} to {last}'}: {run.state.value}")
    row, column = divmod(run.start, 60)
    shape = tag("rect", x=column, y=row, width=run.length, height=1)
    return tag("g", title, shape, class_=f"run {run.state.style}")


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def _title(found: Sequence[MinuteStatus]) -> str:
    return ", ".join(f"{count} {state.value}" for state, count in Counter(found).items())
