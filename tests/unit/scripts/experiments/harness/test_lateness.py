"""Late seconds around a disturbance."""

import pytest

from scripts.experiments.harness.lateness import lateness, p95_by_second
from scripts.load.records import Received


def test_a_second_is_that_of_sending_and_a_second_arrival_does_not_count() -> None:
    rows = [Received("a", 10_900, 500), Received("b", 12_900, 2_500), Received("a", 19_000, 8_600)]
    assert p95_by_second(rows) == {10: 2_500}


def test_late_seconds_are_counted_from_the_fault_until_the_last() -> None:
    p95 = {5: 2_000.0, 10: 90.0, 20: 4_000.0, 21: 3_000.0, 22: 900.0, 23: 1_001.0, 24: 1_000.0}
    found = lateness(p95, fault_ms=20_500)
    assert (found.late_seconds, found.late_before, found.highest_p95_ms) == (3, 1, 4_000)
    assert found.recovered_seconds == pytest.approx(3.5)


def test_a_fault_without_late_seconds_is_over_at_once() -> None:
    assert lateness({20: 100.0}, fault_ms=20_500).recovered_seconds == 0
