"""A side's status in one word."""

import pytest

from shared.contracts.diamond.stability import SILENT, Stability
from shared.contracts.releases import SideState
from shared.contracts.sides import SideReport, SideStatus, lone_side, seen_side, state_of

T0 = 1_800_000_000_000


@pytest.mark.parametrize(
    ("stable", "parked", "problem", "said"),
    [
        (True, False, "", SideStatus.STABLE),
        (False, False, "", SideStatus.UNSTABLE),
        (True, True, "", SideStatus.PARKED),
        (False, True, "", SideStatus.PARKED),
        (True, False, "away", SideStatus.UNKNOWN),
        (False, False, "away", SideStatus.UNKNOWN),
        (True, True, "away", SideStatus.UNKNOWN),
        (False, True, "away", SideStatus.UNKNOWN),
    ],
)
def test_a_side_that_could_not_be_asked_is_not_known_and_a_parked_one_is_not_judged(
    stable: bool, parked: bool, problem: str, said: SideStatus
) -> None:
    report = SideReport(side="blue", at_ms=T0, stable=stable, parked=parked, problem=problem)
    assert state_of(report) is said


@pytest.mark.parametrize(
    ("health", "said"),
    [
        (Stability(stable=True), SideStatus.STABLE),
        (Stability(stable=False, reasons=["late"]), SideStatus.UNSTABLE),
        (SILENT, SideStatus.UNKNOWN),
    ],
)
def test_a_lone_side_is_what_its_observe_says_and_not_known_without_an_answer(
    health: Stability, said: SideStatus
) -> None:
    report = lone_side("local", health, T0)
    assert state_of(report) is said
    assert [*report.reasons, *([report.problem] if report.problem else [])] == list(health.reasons)


def test_a_side_that_the_deployer_could_not_ask_is_not_known_although_it_was_written_as_parked() -> None:
    state = SideState(side="blue", at_ms=T0, problem="brokers do not answer")
    assert state_of(seen_side(state)) is SideStatus.UNKNOWN
