"""The loss table: one row per hop. Pure."""

from collections.abc import Sequence

from pipelines.management.console import formatting
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import amount, counted, empty, number, table
from shared.contracts.scorecard import HopRow, NamedEvent

_COLUMNS = ("taken", "given", "lost", "doubled", "under_way", "waiting", "dropped", "dead", "quarantined")
_ALARMING = frozenset({"lost", "doubled"})


def hop_table(name: str, hops: Sequence[HopRow]) -> Markup:
    """A table of the events that each hop received, passed on, lost and doubled."""
    if not hops:
        return empty("No events were counted.")
    titles = ["Hop", *(amount(_title(column)) for column in _COLUMNS), amount("Loss")]
    return table(name, titles, [_row(hop) for hop in hops])


def worst_hops(hops: Sequence[HopRow]) -> list[HopRow]:
    """The hops before the pipes, then those of pipes; in both, most lost and doubled events first."""
    return sorted(hops, key=_goodness)


def _goodness(hop: HopRow) -> tuple[bool, int, int, int, int]:
    wrong = hop.lost + hop.doubled
    return bool(hop.pipe), -wrong, -hop.dead - hop.quarantined, -hop.waiting - hop.under_way, -hop.taken


def hop_name(hop: HopRow) -> str:
    """The node, with the pipe if the hop has one, and the pipe's tenant if all tenants are shown."""
    return f"{hop.node.value} · {hop.full_pipe}" if hop.pipe else hop.node.value


def findings(hops: Sequence[HopRow]) -> Markup:
    """The lost and doubled events of each hop, with their ids."""
    return joined(*(_finding(hop) for hop in hops if hop.lost or hop.doubled or hop.named or hop.unnamed))


def _title(column: str) -> str:
    return column.replace("_", " ").capitalize()


def _row(hop: HopRow) -> Markup:
    cells = (
        counted(getattr(hop, column), column, "bad" if column in _ALARMING else "") for column in _COLUMNS
    )
    loss = number(str(formatting.percent(hop.lost_percent)), "lost_percent", "bad" if hop.lost else "zero")
    return tag("tr", tag("th", hop_name(hop), scope="row"), *cells, loss, data_hop=hop_name(hop))


def _finding(hop: HopRow) -> Markup:
    title = f"{hop_name(hop)}: {formatting.count(hop.lost)} lost, {formatting.count(hop.doubled)} doubled"
    return tag(
        "div",
        tag("h3", title),
        _named(hop) if hop.named else None,
        tag("p", "More events are lost or doubled than can be named.", class_="note")
        if hop.unnamed
        else None,
        tag("p", "See these records: ", *_places(hop.look_at), class_="note") if hop.look_at else None,
        class_="finding",
    )


def _named(hop: HopRow) -> Markup:
    titles = ["Event", "What", "Topic / partition / offset", "Hash of the id"]
    return table(f"named-{hop_name(hop)}", titles, [_event(event) for event in hop.named], "ids")


def _event(event: NamedEvent) -> Markup:
    times = abs(event.times)
    what = ("lost" if event.times > 0 else "doubled") + (f" {times} times" if times > 1 else "")
    place = f"{event.topic}/{event.partition}/{event.offset}" if event.topic else "record no longer found"
    return tag(
        "tr",
        tag("th", tag("code", event.id or "unknown id"), scope="row"),
        tag("td", what),
        tag("td", tag("code", place) if event.topic else place),
        tag("td", tag("code", event.hash)),
        data_event=event.id or event.hash,
    )


def _places(places: Sequence[str]) -> list[Markup]:
    return [joined(", " if at else None, tag("code", place)) for at, place in enumerate(places)]
