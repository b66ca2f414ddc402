"""Each row of the table says what its action waits for; each cell is checked against the function."""

import pytest

from shared.contracts.alarms import Alarm, AlarmKind, Audience
from shared.contracts.diamond.activities import Action, Activity, Actor
from shared.contracts.diamond.permission import RULES, reasons_to_wait, yields_to
from shared.contracts.diamond.stability import SILENT, Stability, stability
from shared.contracts.scorecard import ALL_TENANTS, MinuteCard

STABLE = Stability(stable=True)
UNSTABLE = Stability(stable=False, reasons=("alarm loss: 3 events are lost",))

ORDER = (
    Action.ROLLOUT_STEP,
    Action.REPLACE_CODE,
    Action.STEP_FORWARD,
    Action.STEP_BACK,
    Action.SCALE_OUT,
    Action.SCALE_IN,
    Action.MAINTAIN,
)
TABLE = {
    # under way: ramp replace forward back out in maintain; the side: unstable silent
    Action.ROLLOUT_STEP: "- W W W W W W W W",
    Action.REPLACE_CODE: "W W W W W W W W W",
    Action.STEP_FORWARD: "W W W W W W W W W",
    Action.STEP_BACK: "- - - - - - - - -",
    Action.SCALE_OUT: "- - - - - - - - -",
    Action.SCALE_IN: "- W W W - - W W W",
    Action.MAINTAIN: "W W W W W W - - -",
}


def activity(action: Action, fence: int = 1) -> Activity:
    return Activity(
        id=f"{action}-{fence}",
        action=action,
        reason="release 2",
        owner="other",
        fence=fence,
        since_ms=0,
        lease_seconds=1,
    )


@pytest.mark.parametrize("wanted", ORDER)
def test_an_action_waits_for_what_the_table_says_and_for_nothing_else(wanted: Action) -> None:
    cells = TABLE[wanted].split()
    assert len(cells) == len(ORDER) + 2
    for other, cell in zip(ORDER, cells, strict=False):
        reasons = reasons_to_wait(wanted, [activity(other)], STABLE)
        assert bool(reasons) == (cell == "W"), (wanted, other, reasons)
        if reasons:
            assert f"{other} (release 2)" in reasons[0]
    for health, cell in zip((UNSTABLE, SILENT), cells[-2:], strict=True):
        assert bool(reasons_to_wait(wanted, [], health)) == (cell == "W"), (wanted, health)
    assert not reasons_to_wait(wanted, [], STABLE)


def test_every_action_has_a_rule_and_a_row() -> None:
    assert set(RULES) == set(TABLE) == set(Action)


def test_an_operator_forces_maintenance_and_a_drain_of_workers_and_nothing_else() -> None:
    busy = [activity(action) for action in Action]
    forced = {action for action in Action if not reasons_to_wait(action, busy, UNSTABLE, forced=True)}
    assert forced == {Action.MAINTAIN, Action.SCALE_IN, Action.STEP_BACK, Action.SCALE_OUT}


def test_who_asks_later_lets_an_older_wish_go_first_that_it_would_hold_up() -> None:
    wish = activity(Action.REPLACE_CODE)
    assert yields_to(Action.ROLLOUT_STEP, [wish], STABLE)
    assert not yields_to(Action.SCALE_OUT, [wish], STABLE)
    assert not yields_to(Action.STEP_BACK, [wish], STABLE)


def test_a_wish_that_health_holds_up_holds_nobody_up() -> None:
    wish = activity(Action.REPLACE_CODE)
    assert yields_to(Action.MAINTAIN, [wish], STABLE)
    assert not yields_to(Action.MAINTAIN, [wish], UNSTABLE)


def _alarm(kind: AlarmKind) -> Alarm:
    return Alarm(
        id="1",
        kind=kind,
        audience=Audience.OPERATOR,
        tenant=ALL_TENANTS,
        subject="route",
        text="it says why",
        opened_ms=0,
        updated_ms=0,
    )


@pytest.mark.parametrize("kind", list(AlarmKind))
def test_a_side_is_unstable_while_loss_doubles_a_stall_or_a_burn_is_open(kind: AlarmKind) -> None:
    found = stability([_alarm(kind)], [], 0.0, behind=False, at_ms=7)
    assert found.stable == (kind.value not in {"loss", "doubled", "stalled", "burn"})
    assert found.stable or found.reasons == (f"alarm {kind}: it says why",)


def test_a_side_is_unstable_after_a_spent_minute_and_while_the_meter_is_behind() -> None:
    spent = MinuteCard(tenant="acme", minute=5, settled=True, total=9, good=2, spent=True, why=["p95 is 3 s"])
    good = MinuteCard(tenant="acme", minute=6, settled=True)
    assert stability([], [spent, good], 0, behind=False, at_ms=0).reasons == ("minute 5 of acme: p95 is 3 s",)
    assert stability([], [good], 40, behind=True, at_ms=0).reasons == ("the meter is 40 s behind",)
    assert stability([], [good], 3, behind=False, at_ms=0) == Stability(stable=True)


def test_every_action_is_one_actors() -> None:
    assert {activity(action).actor for action in Action} == set(Actor)
