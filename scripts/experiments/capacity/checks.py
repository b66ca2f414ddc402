"""The model against what was measured and documented. Pure."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from scripts.experiments.capacity.dollars import monthly
from scripts.experiments.capacity.model import Demand, Model, demand_of, fit, per_million
from scripts.experiments.capacity.points import OUTSIDE, Facts, Point
from scripts.experiments.capacity.rating import Machine, held_utilisation, rating
from scripts.experiments.capacity.sizes import side_size
from shared.runtime.errors import UsageError


class Check(Struct, frozen=True, kw_only=True):
    """A figure of the model beside the one it should be."""

    what: str
    unit: str
    predicted: float | None
    """None if the rest of the points allows no fit."""

    measured: float

    @property
    def ratio(self) -> float | None:
        """Predicted to measured."""
        return None if self.predicted is None else self.predicted / self.measured


def residuals(model: Model, points: Sequence[Point]) -> list[Check]:
    """CPU seconds per million events of each point, by part and in sum."""
    found = []
    for point in points:
        predicted = per_million(model.cores(demand_of(point)), point.rate)
        for part, measured in point.cpu_per_million.items():
            found.append(_cpu(f"{point.label}: {part}", predicted[part], measured))
        known = sum(predicted[part] for part in point.cpu_per_million)
        found.append(_cpu(f"{point.label}: sum", known, sum(point.cpu_per_million.values())))
    return found


def leave_one_out(points: Sequence[Point]) -> list[Check]:
    """The sum of each point, by a model that was fitted to the others."""
    found = []
    for number, point in enumerate(points):
        try:
            model = fit([*points[:number], *points[number + 1 :]])
            predicted = sum(per_million(model.cores(demand_of(point)), point.rate).values())
        except UsageError:
            predicted = None
        found.append(_cpu(point.label, predicted, sum(point.cpu_per_million.values())))
    return found


def others(facts: Facts, model: Model) -> Iterator[Check]:
    """Figures that the fit does not know: totals, ratings and documented costs."""
    for each in facts.totals:
        used = model.cores(Demand(rate=each.rate, batch=each.batch))
        chain = sum(cores for part, cores in used.items() if part != OUTSIDE) * 1e6 / each.rate
        middle = (each.lowest + each.highest) / 2
        yield _cpu(f"{each.rate:,.0f}/s batches of {each.batch}, chain alone", chain, middle)
    share = held_utilisation(facts.points, facts.ratings)
    for rated in facts.ratings:
        machine = Machine(
            cores=rated.cores,
            utilisation=share,
            partition_rate=float("inf"),  # of the cores alone: the bound itself comes from a rating
            load_inside=rated.load_inside,
        )
        yield Check(
            what=f"rating, {rated.cores:g} cores",
            unit="events/s",
            predicted=rating(model, machine, demand_of(rated)),
            measured=rated.rate,
        )
    for cost in facts.documented:
        size = side_size(facts, model, share, cost.rate)
        yield Check(
            what=f"documented cost of {cost.rate:,.0f}/s",
            unit="$ a month",
            predicted=sum(monthly(facts, size).values()),
            measured=cost.dollars,
        )


def _cpu(what: str, predicted: float | None, measured: float) -> Check:
    return Check(what=what, unit="CPU s per million", predicted=predicted, measured=measured)
