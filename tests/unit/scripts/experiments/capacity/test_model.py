"""The fitted model, and ratings derived from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.experiments.capacity.checks import leave_one_out, residuals
from scripts.experiments.capacity.model import (
    BROKERS,
    COLLECT,
    Demand,
    Model,
    PartCost,
    demand_of,
    fit,
    non_negative_least_squares,
    per_million,
)
from scripts.experiments.capacity.points import OUTSIDE, Point, Rated, read_facts
from scripts.experiments.capacity.rating import Machine, held_utilisation, rating
from shared.runtime.errors import UsageError

COST = st.floats(0, 1)
PARTS = st.builds(
    PartCost, fixed=COST, per_request=COST.map(lambda x: x / 1e3), per_event=COST.map(lambda x: x / 1e4)
)
MODELS = st.builds(Model, parts=st.fixed_dictionaries({BROKERS: PARTS, COLLECT: PARTS, OUTSIDE: PARTS}))
SHAPES = st.builds(
    Demand,
    rate=st.just(1.0),
    batch=st.integers(1, 500),
    partitions=st.integers(1, 8),
    pipes=st.integers(1, 4),
)


def point(rate: float, batch: int, cpu: dict[str, float], *, held: bool = True, cores: float = 2) -> Point:
    return Point(source="here", cores=cores, rate=rate, batch=batch, held=held, cpu_per_million=cpu)


@given(
    rows=st.lists(st.lists(st.floats(0, 100), min_size=3, max_size=3), min_size=3, max_size=6), data=st.data()
)
def test_no_other_non_negative_vector_is_nearer(rows: list[list[float]], data: st.DataObject) -> None:
    matrix = np.array(rows)
    wanted = np.array(data.draw(st.lists(st.floats(0, 100), min_size=len(rows), max_size=len(rows))))
    found = non_negative_least_squares(matrix, wanted)
    other = np.array(data.draw(st.lists(st.floats(0, 10), min_size=3, max_size=3)))
    assert (found >= 0).all()
    near, far = ((matrix @ x - wanted) @ (matrix @ x - wanted) for x in (found, other))
    assert near <= far * (1 + 1e-6) + 1e-6


def test_a_fit_finds_the_costs_that_made_its_points() -> None:
    true = Model(parts={BROKERS: PartCost(fixed=0.3, per_request=2e-4, per_event=1e-5)})
    loads = [
        Demand(rate=rate, batch=batch) for rate, batch in ((500, 1), (4_000, 100), (9_000, 100), (3_000, 10))
    ]
    points = [point(load.rate, load.batch, per_million(true.cores(load), load.rate)) for load in loads]
    found = fit(points).parts[BROKERS]
    assert [found.fixed, found.per_request, found.per_event] == pytest.approx([0.3, 2e-4, 1e-5])
    assert all(check.ratio == pytest.approx(1) for check in residuals(fit(points), points))
    assert all(check.ratio == pytest.approx(1) for check in leave_one_out(points))


def test_a_part_with_two_points_is_refused_and_left_out_checks_say_so() -> None:
    points = [point(1_000, 1, {BROKERS: 300}), point(10_000, 100, {BROKERS: 30})]
    with pytest.raises(UsageError, match="points: 2 have CPU seconds of three brokers"):
        fit(points)
    assert [check.predicted for check in leave_one_out(points)] == [None, None]


def test_points_of_one_size_of_batch_do_not_tell_requests_from_events() -> None:
    points = [point(rate, 100, {BROKERS: 30 + 100_000 / rate}) for rate in (5_000, 10_000, 12_500, 15_000)]
    with pytest.raises(UsageError, match=r"three brokers.*apart.*another size of a batch"):
        fit(points)
    single = point(1_000, 1, {BROKERS: 300})
    assert [check.predicted is None for check in leave_one_out([single, *points])] == [True, *[False] * 4]


@given(model=MODELS, shape=SHAPES, cores=st.floats(0.1, 64), more=st.floats(0, 64))
def test_more_cores_never_lower_the_rating(model: Model, shape: Demand, cores: float, more: float) -> None:
    lower, higher = (
        rating(model, Machine(cores=each, utilisation=0.9, partition_rate=10_000), shape)
        for each in (cores, cores + more)
    )
    assert 0 <= lower <= higher <= 10_000 * shape.partitions


@given(model=MODELS, shape=SHAPES, cores=st.floats(0.1, 64))
def test_at_its_rating_a_machine_is_no_fuller_than_allowed(model: Model, shape: Demand, cores: float) -> None:
    rate = rating(model, Machine(cores=cores, utilisation=0.9, partition_rate=10_000), shape)
    if rate > 0:
        at = Demand(rate=rate, batch=shape.batch, partitions=shape.partitions, pipes=shape.pipes)
        assert model.total(at, load_inside=True) <= 0.9 * cores * (1 + 1e-6) + 1e-6


def test_collect_works_once_an_event_and_the_rest_once_a_delivery() -> None:
    cost = PartCost(fixed=1, per_request=0, per_event=1e-3)
    used = Model(parts={COLLECT: cost, BROKERS: cost}).cores(
        Demand(rate=1_000, batch=1, partitions=2, pipes=3)
    )
    assert used == {COLLECT: pytest.approx(2), BROKERS: pytest.approx(5)}


@pytest.mark.parametrize("field", ["rate", "batch", "partitions", "pipes"])
def test_a_load_of_nothing_names_its_field(field: str) -> None:
    with pytest.raises(UsageError, match=f"{field}: 0 is not above 0"):
        Demand(**{"rate": 1.0, "batch": 1, field: 0})  # type: ignore[arg-type]


def test_no_cores_are_refused() -> None:
    with pytest.raises(UsageError, match="cores: 0"):
        rating(Model(parts={}), Machine(cores=0, utilisation=1, partition_rate=1), Demand(rate=1, batch=1))


def test_a_part_of_the_cores_is_in_use_at_a_rating() -> None:
    rated = Rated(source="here", cores=2, batch=100, rate=10_000)
    points = [point(10_000, 100, {BROKERS: 100, OUTSIDE: 20}), point(12_500, 100, {BROKERS: 200}, held=False)]
    assert held_utilisation(points, [rated]) == pytest.approx(0.6)
    with pytest.raises(UsageError, match="ratings: none has a held point"):
        held_utilisation(points[1:], [rated])


def test_the_measured_points_are_met_within_a_tenth() -> None:
    facts = read_facts()
    checks = residuals(fit(facts.points), facts.points)
    assert all(check.ratio == pytest.approx(1, abs=0.1) for check in checks)
    assert [demand_of(each).rate for each in facts.points] == [1_000, 10_000, 12_500, 15_000]
