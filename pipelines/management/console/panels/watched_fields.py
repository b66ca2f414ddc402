"""The panel of watched fields: how each compares with the same hour of the days before."""

from typing import Final

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import (
    UNKNOWN,
    amount,
    badge,
    empty,
    number,
    panel,
    table,
    write,
)
from pipelines.management.console.poller import Snapshot
from shared.contracts.scorecard import ALL_TENANTS
from shared.contracts.skew import FieldSkew, SkewBar, SkewState

_STATES: Final = {
    SkewState.EVEN: ("as before", "kept"),
    SkewState.SKEWED: ("differs", "far"),
    SkewState.TOO_FEW: ("too few events", "none"),
    SkewState.NO_BASELINE: ("no days before", "none"),
}
_MOST_BARS: Final = 12
_HEIGHT: Final = 40


def watched_table(snapshot: Snapshot) -> Markup:
    """A table with a row for each watched field, and the key of its bars."""
    if not snapshot.now.looked:
        return empty(UNKNOWN)
    if not snapshot.skews:
        hint = tag(
            "p", "A pipe may name fields: ", tag("code", "watch: [{field: data.score, kind: distribution}]")
        )
        return empty("No field was watched in the last hour.", hint)
    every = snapshot.view.tenant == ALL_TENANTS
    titles = ["Field", "Pipe", *(["Tenant"] if every else []), "Hour", "State", amount("Events")]
    titles += [amount("PSI"), amount("Missing"), amount("before"), "Values", "What changed"]
    return joined(table("watched", titles, [_row(each, every) for each in snapshot.skews]), _key())


def _row(each: FieldSkew, every: bool) -> Markup:
    text, style = _STATES[each.state]
    return tag(
        "tr",
        tag("th", each.field, scope="row"),
        tag("td", each.pipe),
        tag("td", each.tenant) if every else None,
        tag("td", formatting.clock_minute(each.hour_ms // 60_000)),
        tag("td", badge(text, style), data_name="state"),
        number(formatting.count(each.events), "events"),
        number(formatting.NONE if each.psi is None else f"{each.psi:.2f}", "psi"),
        number(str(formatting.share(each.missing)), "missing"),
        number(str(formatting.share(each.missing_before)), "missing_before"),
        tag("td", bars(each.bars)),
        tag("td", "; ".join(each.changes) or formatting.NONE, data_name="changes"),
        data_field=f"{each.pipe} {each.field}",
    )


def bars(found: list[SkewBar]) -> Markup | str:
    """Two bars for each part of the values, of now and before; a pointer on them says what they are."""
    if not found:
        return formatting.NONE
    shown = found[:_MOST_BARS]
    most = max(max(each.now, each.before) for each in shown) or 1.0
    more = len(found) - len(shown)
    return joined(
        tag(
            "svg",
            *(_pair(at, each, most) for at, each in enumerate(shown)),
            viewBox=f"0 0 {len(shown) * 3} {_HEIGHT}",
            preserveAspectRatio="none",
            role="img",
            aria_label="; ".join(map(_said, shown)),
            class_="pairs",
        ),
        tag("span", f"and {more} more", class_="quiet") if more else None,
    )


def _pair(at: int, each: SkewBar, most: float) -> Markup:
    return tag(
        "g",
        tag("title", _said(each)),
        _bar(at * 3, each.before / most, "before"),
        _bar(at * 3 + 1, each.now / most, "now"),
    )


def _bar(x: int, height: float, style: str) -> Markup:
    tall = round(height * _HEIGHT, 2)
    return tag("rect", x=x, y=f"{_HEIGHT - tall:g}", width=1, height=f"{tall:g}", class_=style)


def _said(each: SkewBar) -> str:
    return f"{each.label}: {formatting.share(each.now)}, before {formatting.share(each.before)}"


def _key() -> Markup:
    entries = (
        tag("li", tag("i", class_=f"dot {style}", aria_hidden="true"), text)
        for style, text in (("accent", "this hour"), ("none", "the same hour of the days before"))
    )
    return tag("ul", *entries, class_="legend")


class WatchedFields:
    """The panel."""

    def __init__(self) -> None:
        with panel("watched-fields", "Watched fields", "Against the same hour of the days before"):
            self._table = write(Markup())

    def show(self, snapshot: Snapshot) -> None:
        """Update the panel."""
        self._table.content = watched_table(snapshot)
