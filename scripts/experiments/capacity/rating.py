"""The rating that a model predicts: the rate at which the cores are as full as at the measured one. Pure."""

from collections.abc import Iterable

from msgspec import Struct

from scripts.experiments.capacity.model import Demand, Model, demand_of
from scripts.experiments.capacity.points import OUTSIDE, Point, Rated
from shared.runtime.errors import UsageError


def held_utilisation(points: Iterable[Point], rated: Iterable[Rated]) -> float:
    """Share of the cores in use at the measured ratings, the lowest if there are several: safe to fill.

    Raises:
        UsageError: if no rating has a point of the same load.
    """
    held = {(point.cores, demand_of(point)): point for point in points if point.held}
    known = [(each.cores, held.get((each.cores, demand_of(each)))) for each in rated]
    shares = [_used(point) / cores for cores, point in known if point is not None]
    if not shares:
        raise UsageError("ratings: none has a held point of the same cores and load", "add that point")
    return min(shares)


def _used(point: Point) -> float:
    return sum(used for part, used in point.cores_used.items() if point.load_inside or part != OUTSIDE)


class Machine(Struct, frozen=True, kw_only=True):
    """Where a rating is predicted for."""

    cores: float
    utilisation: float
    """Share of the cores that may be in use."""

    partition_rate: float
    """Events per second beyond which a partition was never measured."""

    load_inside: bool = True


def rating(model: Model, machine: Machine, shape: Demand) -> float:
    """Events per second at which the cores are as full as allowed; 0 if being at work fills them already.

    Never more than the partitions were measured to carry. `shape` gives batch, partitions and pipes.
    """
    if machine.cores <= 0:
        raise UsageError(f"cores: {machine.cores} is not above 0", "use a positive number")
    one, two = (model.total(_at(shape, rate), load_inside=machine.load_inside) for rate in (1.0, 1_001.0))
    slope = (two - one) / 1_000
    free = machine.cores * machine.utilisation - (one - slope)
    if free <= 0:
        return 0.0
    bound = machine.partition_rate * shape.partitions
    return min(free / slope, bound) if slope > 0 else bound


def _at(shape: Demand, rate: float) -> Demand:
    return Demand(rate=rate, batch=shape.batch, partitions=shape.partitions, pipes=shape.pipes)
