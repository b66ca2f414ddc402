"""CPU by part of a chain, as a function of its load, fitted to measured points. Pure.

Cores in use = fixed * busy partitions + per_request * requests/s + per_event * events/s; none is negative.
Fixed is what a partition costs as soon as it has events: micro-batches, fetches and produce requests come at
the same pace however few events they hold.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from scripts.experiments.capacity.points import OUTSIDE, Point, Rated
from shared.runtime.errors import UsageError

COLLECT: Final = "collect"
JVM: Final = "Spark's JVM"
PYTHON: Final = "Spark's Python workers"
BROKERS: Final = "three brokers"
_UNKNOWNS: Final = 3
_BEFORE_THE_PIPES: Final = frozenset({COLLECT, OUTSIDE})
"""Parts with work that grows neither with the partitions nor with the pipes of an event."""

Vector = NDArray[np.float64]


class Demand(Struct, frozen=True, kw_only=True):
    """A load: events per second in requests of `batch` events, each to `pipes` destinations."""

    rate: float
    batch: int
    partitions: int = 1
    pipes: int = 1

    def __post_init__(self) -> None:
        """Refuse a load that is none.

        Raises:
            UsageError: names the field.
        """
        for field in ("rate", "batch", "partitions", "pipes"):
            if getattr(self, field) <= 0:
                raise UsageError(f"{field}: {getattr(self, field)} is not above 0", "use a positive number")


class PartCost(Struct, frozen=True, kw_only=True):
    """Cost of one part of a chain."""

    fixed: float
    """Cores for each busy partition; of collect and the load, once."""

    per_request: float
    """CPU seconds a request."""

    per_event: float
    """CPU seconds an event; behind route, a delivery."""


class Model(Struct, frozen=True, kw_only=True):
    """Costs by part."""

    parts: dict[str, PartCost]

    def cores(self, demand: Demand) -> dict[str, float]:
        """Cores in use, by part."""
        return {
            part: float(_row(part, demand) @ np.array([cost.fixed, cost.per_request, cost.per_event]))
            for part, cost in self.parts.items()
        }

    def total(self, demand: Demand, *, load_inside: bool) -> float:
        """Cores of the chain, and of load generator and destination if they are on the same cores."""
        return sum(used for part, used in self.cores(demand).items() if load_inside or part != OUTSIDE)


def demand_of(point: Point | Rated) -> Demand:
    """The load of a measured point."""
    return Demand(rate=point.rate, batch=point.batch, partitions=point.partitions, pipes=point.pipes)


def fit(points: Sequence[Point]) -> Model:
    """Non-negative least squares of the relative errors, part by part.

    Args:
        points: three or more with each part; others are left out of that part.

    Raises:
        UsageError: if a part has fewer points, or some that many costs explain as well.
    """
    names = dict.fromkeys(part for point in points for part in point.cpu_per_million)
    return Model(parts={part: _fit_part(part, points) for part in names})


def _fit_part(part: str, points: Iterable[Point]) -> PartCost:
    having = [point for point in points if point.cores_used.get(part, 0) > 0]
    if len(having) < _UNKNOWNS:
        raise UsageError(
            f"points: {len(having)} have CPU seconds of {part}, but a fit needs {_UNKNOWNS}", "measure more"
        )
    used = np.array([point.cores_used[part] for point in having])
    rows = np.array([_row(part, demand_of(point)) for point in having])
    if np.linalg.matrix_rank(rows / np.abs(rows).max(axis=0)) < _UNKNOWNS:
        raise UsageError(
            f"points: those of {part} do not tell its costs of a request and of an event apart",
            "measure another size of a batch",
        )
    fixed, per_request, per_event = non_negative_least_squares(rows / used[:, None], np.ones(len(having)))
    return PartCost(fixed=float(fixed), per_request=float(per_request), per_event=float(per_event))


def _row(part: str, demand: Demand) -> Vector:
    """The factors of a part's three unknowns at a demand."""
    front = part in _BEFORE_THE_PIPES
    events = demand.rate * (1 if front else demand.pipes)
    return np.array([1 if front else demand.partitions, demand.rate / demand.batch, events])


def non_negative_least_squares(rows: Vector, wanted: Vector) -> Vector:
    """The non-negative x that minimises |rows @ x - wanted|, for a few unknowns.

    The optimum is the unconstrained one of the unknowns that are not 0, so it tries each set of those.
    """
    count = rows.shape[1]
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1  # columns differ by orders of magnitude, which would cost precision
    best, lowest = np.zeros(count), float(wanted @ wanted)
    for size in range(1, count + 1):
        for chosen in combinations(range(count), size):
            some = np.linalg.lstsq(rows[:, chosen] / scale[list(chosen)], wanted, rcond=None)[0]
            if (some < 0).any():
                continue
            found = np.zeros(count)
            found[list(chosen)] = some / scale[list(chosen)]
            left = rows @ found - wanted
            if (error := float(left @ left)) < lowest:
                best, lowest = found, error
    return best


def per_million(cores: Mapping[str, float], rate: float) -> dict[str, float]:
    """CPU seconds per million events."""
    return {part: used * 1e6 / rate for part, used in cores.items()}
