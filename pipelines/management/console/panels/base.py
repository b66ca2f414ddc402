"""What every panel is made of: a titled section, and HTML in it that tells what was clicked."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nicegui import events, ui

from pipelines.management.console import formatting
from pipelines.management.console.html import Child, Markup, tag

Picked = Callable[[str], object]
"""Takes what a clicked element carries in `data-pick`."""

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
    """A titled section, `span` twelfths wide where there is room."""
    with ui.element("section").classes(f"card span-{span}").props(f'data-testid={name} aria-label="{title}"'):
        write(tag("div", tag("h2", title), tag("p", note) if note else None, class_="head"))
        yield


def write(markup: Markup, style: str = "") -> ui.html:
    """A piece of the page; its `content` may be set again."""
    return ui.html(markup, sanitize=False).classes(style)  # all of it is written by markup.py, which escapes


def pickable(on_pick: Picked, style: str = "") -> ui.html:
    """A piece of the page of which parts can be picked."""
    return _telling(on_pick, _EMIT_PICK, style)


def minute_map(on_minute: Picked, style: str = "") -> ui.html:
    """A piece of the page with a map of a day, 24 rows of 60; tells the minute of the day."""
    return _telling(on_minute, _EMIT_PLACE, style)


def _telling(on_pick: Picked, handler: str, style: str) -> ui.html:
    def told(event: events.GenericEventArguments) -> object:
        return on_pick(str(event.args))

    return write(Markup(), style).on("click", told, js_handler=handler)


def table(name: str, titles: Sequence[str], rows: list[Markup], style: str = "") -> Markup:
    """A table that scrolls by itself where it is too wide; the first column says what the row is."""
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
    """What is shown where there is nothing."""
    return tag("div", tag("p", text), *more, class_="empty")


def number(text: str, name: str, style: str = "") -> Markup:
    """A cell with a figure."""
    return tag("td", text, class_=f"number {style}".strip(), data_name=name)


def counted(value: int, name: str, style: str = "") -> Markup:
    """A cell with a count: nought is quiet, and anything else in the style given."""
    return number(formatting.count(value), name, style if value else "zero")


def badge(text: str, style: str) -> Markup:
    """A word with a colour."""
    return tag("span", tag("i", class_=f"dot {style}", aria_hidden="true"), text, class_="badge")


class Chart:
    """ECharts, drawn as SVG: its colours can then be the style sheet's."""

    def __init__(self, name: str, label: str) -> None:
        self._chart = ui.echart({}, renderer="svg").classes("plot")
        self._chart.props(f'data-testid={name} role=img aria-label="{label}"')

    def draw(self, options: dict[str, Any]) -> None:
        """Show this."""
        if options == self._chart.options:
            return
        self._chart.options.clear()
        self._chart.options.update(options)
        self._chart.update()
