"""Building blocks of panels: titled sections, clickable HTML, tables and charts."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from nicegui import events, ui

from pipelines.management.console import formatting
from pipelines.management.console.html import Child, Markup, tag

UNKNOWN: Final = "Not known until the meter has caught up."
"""Shown where an empty table would look like an answer."""

Picked = Callable[[str], object]
"""Called with the `data-pick` of a clicked element."""

_EMIT_PICK = "event => { const at = event.target.closest('[data-pick]'); if (at) emit(at.dataset.pick) }"
_EMIT_PLACE = """event => {
  const map = event.target.closest('svg'); if (!map) return;
  const box = map.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / box.width * 60);
  const row = Math.floor((event.clientY - box.top) / box.height * 24);
  if (column >= 0 && column < 60 && row >= 0 && row < 24) emit(String(row * 60 + column));
}"""


@contextmanager
def panel(name: str, title: str, note: str = "", span: int = 12) -> Iterator[None]:
    """A titled section, `span` twelfths of the page wide if there is room."""
    with ui.element("section").classes(f"card span-{span}").props(f'data-testid={name} aria-label="{title}"'):
        write(tag("div", tag("h2", title), tag("p", note) if note else None, class_="head"))
        yield


def write(markup: Markup, style: str = "") -> ui.html:
    """An HTML element of the page; its `content` can be replaced."""
    return ui.html(markup, sanitize=False).classes(style)  # html.py has escaped it


def pickable(on_pick: Picked, style: str = "") -> ui.html:
    """An HTML element with clickable parts."""
    return _clickable(on_pick, _EMIT_PICK, style)


def minute_map(on_minute: Picked, style: str = "") -> ui.html:
    """A clickable map of a day, 24 rows of 60; `on_minute` gets the minute of the day."""
    return _clickable(on_minute, _EMIT_PLACE, style)


def _clickable(on_pick: Picked, handler: str, style: str) -> ui.html:
    def clicked(event: events.GenericEventArguments) -> object:
        return on_pick(str(event.args))

    return write(Markup(), style).on("click", clicked, js_handler=handler)


def table(name: str, titles: Sequence[str], rows: list[Markup], style: str = "") -> Markup:
    """A table that scrolls if it is too wide; the first column is the row's title."""
    columns = (title if isinstance(title, Markup) else tag("th", title, scope="col") for title in titles)
    head = tag("tr", *columns)
    return tag(
        "div",
        tag("table", tag("thead", head), tag("tbody", *rows), data_testid=name, class_=style or None),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=name,
        data_scroll=name,
    )


def amount(title: str) -> Markup:
    """The title of a column of figures."""
    return tag("th", title, scope="col", class_="number")


def empty(text: str, *more: Child) -> Markup:
    """A text shown instead of an empty table."""
    return tag("div", tag("p", text), *more, class_="empty")


def number(text: str, name: str, style: str = "") -> Markup:
    """A cell with a figure."""
    return tag("td", text, class_=f"number {style}".strip(), data_name=name)


def counted(value: int, name: str, style: str = "") -> Markup:
    """A cell with a count; 0 is shown faintly, any other value in the given style."""
    return number(formatting.count(value), name, style if value else "zero")


def badge(text: str, style: str) -> Markup:
    """A word with a coloured dot."""
    return tag("span", tag("i", class_=f"dot {style}", aria_hidden="true"), text, class_="badge")


class Chart:
    """An ECharts chart, sent to the browser only when it changes. Its colours come from the style sheet."""

    def __init__(self, name: str, label: str) -> None:
        self._chart = ui.echart({}, renderer="svg").classes("plot")
        self._chart.props(f'data-testid={name} role=img aria-label="{label}"')

    def draw(self, options: dict[str, Any]) -> None:
        """Show a chart with these options."""
        if options == self._chart.options:
            return
        self._chart.options.clear()
        self._chart.options.update(options)
        self._chart.update()
