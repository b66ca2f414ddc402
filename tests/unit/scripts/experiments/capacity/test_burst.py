"""A simulated burst."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.experiments.capacity.burst import (
    Burst,
    BurstResult,
    Latency,
    Opening,
    Scenario,
    least_warm,
    simulate,
)
from scripts.experiments.capacity.fleet import Fleet, Tier
from shared.runtime.errors import UsageError

LATENCY = Latency(p50=0.2, p95=0.5)
TIER = Tier(
    name="worker",
    pods_at_peak=10,
    limit=20,
    busy_at_rating=1.2,
    busiest=4 / 3,
    target=0.6,
    tolerance=0.1,
    sync_seconds=15,
    metric_age=15,
    stabilization=30,
    step_share=0.5,
    step_pods=3,
    step_seconds=60,
    start=(70, 190),
    warm_up=90,
    cold=(0.2, 0.3),
)


def follow(
    warm: int, *, seed: int = 1, burst: Burst | None = None, tier: Tier = TIER, opening: Opening | None = None
) -> BurstResult:
    scenario = Scenario(tier=tier, burst=burst or Burst(seconds=400), latency=LATENCY, opening=opening)
    return simulate(scenario, warm, np.random.default_rng(seed))


@settings(max_examples=20, deadline=None)
@given(
    times=st.floats(1, 200),
    rise=st.floats(1, 300),
    more=st.integers(0, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_with_everything_warm_nothing_waits(times: float, rise: float, more: int, seed: int) -> None:
    found = follow(10 + more, seed=seed, burst=Burst(times=times, rise=rise, seconds=200))
    assert max(found.backlog) == 0
    assert set(found.p95) == {0.5}


@settings(max_examples=20, deadline=None)
@given(warm=st.integers(1, 9), seed=st.integers(0, 2**32 - 1))
def test_what_waits_is_late_and_is_served_in_the_end(warm: int, seed: int) -> None:
    found = follow(warm, seed=seed, burst=Burst(seconds=1_500))
    assert found.highest > 1 or max(found.backlog) < 1
    assert found.backlog[-1] == 0
    assert found.p95[-1] == 0.5


def test_one_random_seed_gives_one_outcome() -> None:
    assert follow(2, seed=7) == follow(2, seed=7)
    assert follow(2, seed=7) != follow(2, seed=8)


def test_no_pod_comes_before_its_start() -> None:
    found = follow(2)
    assert found.first_pod is not None
    assert found.first_pod >= 70


def test_an_open_other_side_halves_what_has_to_be_warm() -> None:
    opening = Opening(trigger=0.6, look_seconds=1, delay=1, shift=0)
    assert follow(5, opening=opening).highest <= 1 < follow(5).highest


def test_a_fleet_without_pods_is_refused() -> None:
    with pytest.raises(UsageError, match="warm: 0 pods"):
        follow(0)


@given(most=st.integers(1, 200), limit=st.integers(1, 300))
def test_bisection_finds_the_least_that_holds(most: int, limit: int) -> None:
    found = least_warm(lambda pods: pods >= limit, most)
    assert found == (limit if limit <= most else None)


def test_a_load_rises_from_its_base_to_its_peak() -> None:
    burst = Burst(times=50, rise=120)
    assert [burst.rate(now) for now in (0, 120, 500)] == pytest.approx([0.02, 1, 1])
    assert burst.rate(60) == pytest.approx(0.51)


def test_forty_values_stand_for_the_latency() -> None:
    values = np.sort(Latency(p50=0.214, p95=0.477).quantiles())
    assert values[19] == pytest.approx(0.214)
    assert values[37] == pytest.approx(0.477)


def fleet(warm: int) -> Fleet:
    return Fleet(tier=TIER, rng=np.random.default_rng(1), warm=warm)


def test_the_autoscaler_waits_for_a_steady_wish_and_adds_by_its_steps() -> None:
    found = fleet(4)
    found.scale(0, 1.0)  # a quarter busy: the model adds nothing, and remembers it for 30 s
    found.scale(15, 40.0)
    assert found.pods == 4
    found.scale(45, 40.0)
    assert found.pods == 7  # three pods, more than half of four
    found.scale(60, 40.0)
    assert found.pods == 7
    found.scale(106, 40.0)
    assert found.pods <= 11


def test_a_new_pod_is_cold_at_first() -> None:
    found = fleet(4)
    found.scale(0, 40.0)
    assert (found.ready(69), found.capacity(69)) == (4, 4)
    assert found.ready(200) == 7
    assert 4.6 <= found.capacity(150) + (7 - found.ready(150)) * 0.2 <= 7
    assert found.capacity(500) == 7


def test_a_load_within_the_tolerance_adds_nothing() -> None:
    found = fleet(4)
    found.scale(0, 4 * 0.6 / 1.2 * 1.09)
    assert found.pods == 4
