"""Everything the command prints and writes, computed from the facts."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct

from scripts.experiments.capacity.burst import Burst
from scripts.experiments.capacity.checks import Check, leave_one_out, others, residuals
from scripts.experiments.capacity.dollars import monthly
from scripts.experiments.capacity.footprint import Footprint, footprint
from scripts.experiments.capacity.model import Demand, Model, fit
from scripts.experiments.capacity.points import Facts
from scripts.experiments.capacity.rating import Machine, held_utilisation, rating
from scripts.experiments.capacity.sizes import BATCH, SideSize, side_size
from scripts.experiments.capacity.warm import Answer, answers

CORES: Final = (1.0, 1.5, 2.0, 3.0, 4.0)
SPREADS: Final = (1, 2, 3, 4)
"""Partitions, and pipes an event."""


class RatingRow(Struct, frozen=True, kw_only=True):
    """Predicted ratings of a local side, events per second."""

    cores: float
    by_partitions: list[tuple[float, float]]
    """For 1 to 4 partitions and one pipe: if each pays the fixed cost, and if it is paid once."""

    by_pipes: list[float]
    """For 1 to 4 pipes and one partition."""


class SizedRate(Struct, frozen=True, kw_only=True):
    """A rate with the side that holds it, and what that costs."""

    size: SideSize
    dollars: dict[str, float]
    """A month, by line."""


class Prediction(Struct, frozen=True, kw_only=True):
    """The JSON file of the command."""

    model: Model
    utilisation: float
    """Share of the cores in use at the measured rating."""

    residuals: list[Check]
    left_out: list[Check]
    others: list[Check]
    ratings: list[RatingRow]
    sizes: list[SizedRate]
    burst: Burst
    answers: list[Answer]
    footprints: list[Footprint]


def predict(facts: Facts, rates: Sequence[float], burst: Burst) -> Prediction:
    """Fit, check, size, and follow a burst to each rate.

    Raises:
        UsageError: if there are too few points, or a rate is not above 0.
    """
    model = fit(facts.points)
    share = held_utilisation(facts.points, facts.ratings)
    sizes = [side_size(facts, model, share, rate) for rate in rates]
    found: list[Answer] = []
    footprints: list[Footprint] = []
    for size in sizes:
        base = side_size(facts, model, share, size.rate / burst.times)
        of_peak = list(answers(facts, size, base, share, burst))
        found += of_peak
        for _, both in groupby(of_peak, key=lambda each: each.way):
            one = footprint(facts, list(both), base, lambda rate: side_size(facts, model, share, rate))
            footprints += [one] if one else []
    return Prediction(
        model=model,
        utilisation=share,
        residuals=residuals(model, facts.points),
        left_out=leave_one_out(facts.points),
        others=list(others(facts, model)),
        ratings=[_row(facts, model, share, cores) for cores in CORES],
        sizes=[SizedRate(size=size, dollars=monthly(facts, size)) for size in sizes],
        burst=burst,
        answers=found,
        footprints=footprints,
    )


def _row(facts: Facts, model: Model, share: float, cores: float) -> RatingRow:
    bound = facts["partition_rate"]

    def rated(partitions: int, pipes: int, most: float) -> float:
        machine = Machine(cores=cores, utilisation=share, partition_rate=most)
        return rating(model, machine, Demand(rate=1, batch=BATCH, partitions=partitions, pipes=pipes))

    return RatingRow(
        cores=cores,
        by_partitions=[(rated(each, 1, bound), rated(1, 1, bound * each)) for each in SPREADS],
        by_pipes=[rated(1, each, bound) for each in SPREADS],
    )
