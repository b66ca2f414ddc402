"""All tables of the command, in the order of the documentation. Pure."""

from collections.abc import Iterable

from scripts.experiments.capacity.checks import Check
from scripts.experiments.capacity.points import Facts, Kind
from scripts.experiments.capacity.prediction import Prediction
from scripts.experiments.capacity.reporting.burst_tables import answer_table, footprint_table
from scripts.experiments.capacity.reporting.size_tables import dollar_table, size_table
from scripts.experiments.capacity.reporting.text_tables import TableOf, ratio_text


def tables(found: Prediction, facts: Facts) -> list[TableOf]:
    """All tables, in the order of the documentation."""
    return [
        _costs(found),
        _residuals(found, facts),
        _checks("Each point by a fit to the others", found.left_out),
        _checks("What the fit does not know", found.others),
        _ratings(found),
        size_table(found.sizes, facts),
        dollar_table(found.sizes),
        answer_table(found),
        footprint_table(found.footprints),
        _assumptions(facts),
    ]


def _costs(found: Prediction) -> TableOf:
    heads = ("part", "cores a busy partition", "us a request", "us an event")
    return TableOf(
        title="Cost by part",
        heads=heads,
        rows=[
            [part, f"{cost.fixed:.3f}", f"{cost.per_request * 1e6:.0f}", f"{cost.per_event * 1e6:.1f}"]
            for part, cost in found.model.parts.items()
        ],
    )


def _residuals(found: Prediction, facts: Facts) -> TableOf:
    parts = [*found.model.parts, "sum"]
    ratios = {check.what: check.ratio for check in found.residuals}
    return TableOf(
        title="Predicted to measured CPU seconds per million events",
        heads=("point", *parts),
        rows=[
            [point.label, *(ratio_text(ratios.get(f"{point.label}: {part}")) for part in parts)]
            for point in facts.points
        ],
    )


def _checks(title: str, checks: Iterable[Check]) -> TableOf:
    return TableOf(
        title=title,
        heads=("figure", "unit", "predicted", "measured", "ratio"),
        rows=[
            [
                check.what,
                check.unit,
                "no fit" if check.predicted is None else f"{check.predicted:,.0f}",
                f"{check.measured:,.0f}",
                ratio_text(check.ratio),
            ]
            for check in checks
        ],
    )


def _ratings(found: Prediction) -> TableOf:
    spreads = range(1, len(found.ratings[0].by_partitions) + 1)
    return TableOf(
        title="Rating of a local side, events/s",
        heads=(
            "cores",
            *(f"{each} partition{'s' * (each > 1)}" for each in spreads),
            *(f"{each} pipes" for each in spreads if each > 1),
        ),
        rows=[
            [
                f"{row.cores:g}",
                *(_span(*both) for both in row.by_partitions),
                *(_hundreds(rate) for rate in row.by_pipes[1:]),
            ]
            for row in found.ratings
        ],
    )


def _span(low: float, high: float) -> str:
    texts = dict.fromkeys((_hundreds(low), _hundreds(high)))
    return " to ".join(texts)


def _hundreds(rate: float) -> str:
    """Down to hundreds: a rating is a promise."""
    return f"{rate // 100 * 100:,.0f}"


def _assumptions(facts: Facts) -> TableOf:
    return TableOf(
        title="Assumed, not measured",
        heads=("figure", "value", "why"),
        rows=[
            [name.replace("_", " "), figure.text, figure.source]
            for name, figure in facts.figures.items()
            if figure.kind is Kind.ASSUMED
        ],
    )
