"""The full cards of a minute and of a day. Pure."""

from collections.abc import Iterable

from pipelines.management.console import formatting, status_styles
from pipelines.management.console.html import Markup, joined, tag
from pipelines.management.console.panels.base import amount, badge, number, table
from pipelines.management.console.panels.hops import findings, hop_table
from shared.contracts.scorecard import DayCard, MinuteCard, NodeLags, Percentiles

_MINUTE_COUNTS = (
    "collected", "late", "unmatched", "total", "good", "delivered", "lost", "doubled", "under_way", "waiting",
    "dead", "quarantined", "replayed",
)  # fmt: skip
_DAY_COUNTS = tuple(name for name in _MINUTE_COUNTS if name != "under_way")
_LAGS = ("In, p95", "Out, p50", "Out, p95", "Out, p99", "Adds")
_NAMES = {
    "collected": "events",
    "late": "of these late",
    "unmatched": "matched by no pipe",
    "total": "deliveries owed",
    "good": "in time (1 s)",
    "under_way": "under way",
    "waiting": "waiting to be retried",
    "dead": "dead letters",
    "replayed": "sent again after a rollback",
}


def minute_card(card: MinuteCard) -> Markup:
    """The card of a minute, with the ids of lost and doubled events."""
    state = status_styles.state_of(card)
    facts = _counts(card, _MINUTE_COUNTS)
    facts += [_fact("loss", str(formatting.percent(card.loss_percent)), "loss_percent")]
    facts += [_fact("share in time", str(formatting.good_share(card.sli)), "sli")]
    return joined(
        tag(
            "p",
            badge(state.value, state.style),
            tag("span", " ".join(card.why), class_="why"),
            class_="row",
        ),
        findings(card.hops),
        tag("dl", *facts, class_="facts"),
        tag("h3", "Hops"),
        hop_table("hops-minute", card.hops),
        tag("h3", "Lags"),
        lag_table(card.nodes, card.inside, card.end_to_end),
    )


def day_card(card: DayCard) -> Markup:
    """The card of a day."""
    facts = [
        _fact("nines", formatting.nines(card.nines).text, "nines"),
        _fact("minutes judged", formatting.count(card.minutes), "minutes"),
        _fact("minutes spent", formatting.count(len(card.spent)), "spent"),
        _fact("left to spend", str(formatting.minutes_left(card.left)), "left"),
        *_counts(card, _DAY_COUNTS),
        _fact("loss", str(formatting.percent(card.loss_percent)), "loss_percent"),
    ]
    return joined(
        tag("dl", *facts, class_="facts"),
        tag("h3", "Hops"),
        hop_table("hops-day", card.hops),
        tag("h3", "Lags"),
        lag_table(card.nodes, card.inside, card.end_to_end),
    )


def lag_table(nodes: Iterable[NodeLags], inside: Percentiles, end_to_end: Percentiles) -> Markup:
    """Lag-in and lag-out of each node, and end to end."""
    titles = ["Node", *(amount(title) for title in _LAGS)]
    rows = [_lags(lags.node.value, lags.lag_in.p95, lags.lag_out, lags.process_ms) for lags in nodes]
    rows.append(_lags("inside hifi", None, inside, None))
    rows.append(_lags("end to end", None, end_to_end, None))
    return table("lags", titles, rows)


def _lags(name: str, lag_in: float | None, out: Percentiles, added: float | None) -> Markup:
    cells = (("in", lag_in), ("p50", out.p50), ("p95", out.p95), ("p99", out.p99), ("adds", added))
    return tag(
        "tr",
        tag("th", name, scope="row"),
        *(
            number(formatting.NONE if value is None else str(formatting.lag(value)), key)
            for key, value in cells
        ),
        data_node=name,
    )


def _counts(card: MinuteCard | DayCard, names: Iterable[str]) -> list[Markup]:
    return [
        _fact(
            _NAMES.get(name, name),
            formatting.count(value),
            name,
            "bad" if value and name in ("lost", "doubled") else "",
        )
        for name in names
        for value in (getattr(card, name),)
    ]


def _fact(name: str, text: str, key: str, style: str = "") -> Markup:
    return tag("div", tag("dt", name), tag("dd", text, data_name=key, class_=style or None))
