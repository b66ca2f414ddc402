"""What each change makes of the weights."""

import json

import pytest

from scripts.release.weights import (
    burst,
    dark,
    main,
    rolled_back,
    switched,
)
from shared.contracts.side_weights import SIDES, Weights, WrongWeightsError

BLUE, GREEN = Weights(100, 0), Weights(0, 100)


@pytest.mark.parametrize(("now", "side"), [(BLUE, "green"), (GREEN, "blue")])
def test_a_release_goes_to_the_side_without_traffic(now: Weights, side: str) -> None:
    assert dark(now) == side


@pytest.mark.parametrize("now", [Weights(50, 50), Weights(95, 5)])
def test_where_both_serve_there_is_no_dark_side(now: Weights) -> None:
    with pytest.raises(WrongWeightsError, match="both sides serve"):
        dark(now)


def test_a_switch_gives_all_a_canary_a_share_a_burst_half() -> None:
    assert switched("green", 100) == GREEN
    assert switched("green", 5) == Weights(95, 5)
    assert burst() == Weights(50, 50)


CANARY, HALF = Weights(95, 5), Weights(50, 50)


@pytest.mark.parametrize(
    ("former", "now", "back"),
    [
        ([BLUE], CANARY, BLUE),
        ([CANARY, BLUE], HALF, BLUE),
        ([HALF, CANARY, BLUE], GREEN, BLUE),
        ([BLUE], HALF, BLUE),
        ([GREEN, HALF, CANARY, BLUE], BLUE, GREEN),
        ([BLUE, BLUE], GREEN, BLUE),
    ],
    ids=["canary", "half", "all", "burst", "back and forth", "written twice"],
)
def test_a_rollback_at_any_step_gives_the_traffic_to_who_served_alone_before(
    former: list[Weights], now: Weights, back: Weights
) -> None:
    assert rolled_back(now, former) == back


def test_without_a_side_that_served_alone_before_a_rollback_asks_for_one() -> None:
    with pytest.raises(WrongWeightsError, match="switch to the one that is to stay"):
        rolled_back(HALF, [CANARY])


def test_a_rollback_needs_a_readable_history(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollback", "--now", HALF.text(), "--history", f"[{CANARY.text()}, {BLUE.text()}]"]) == 0
    assert json.loads(capsys.readouterr().out) == {"blue": 100, "green": 0}
    assert main(["rollback", "--now", HALF.text(), "--history", "yesterday"]) == 1
    assert "give a JSON list of weights, newest first" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["rollback", "--now", HALF.text()])
    assert "--history" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"blue": 100}', '{"blue": "x", "green": 0}', "null"])
def test_weights_that_cannot_be_read_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(WrongWeightsError, match=r'weights: .*give {"blue": 100, "green": 0}'):
        Weights.parse(text)


@pytest.mark.parametrize("text", ['{"blue": 100, "green": 100}', '{"blue": 110, "green": -10}'])
def test_weights_are_percentages(text: str) -> None:
    with pytest.raises(WrongWeightsError, match="sum up to 100"):
        Weights.parse(text)


def test_the_command_prints_the_file_of_the_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["switch", "--to", "green", "--share", "5", "--now", '{"blue": 100, "green": 0}']) == 0
    assert json.loads(capsys.readouterr().out) == {"blue": 95, "green": 5}
    assert main(["dark", "--now", '{"blue": 0, "green": 100}']) == 0
    assert capsys.readouterr().out == "blue\n"


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dark", "--now", burst().text()]) == 1
    assert "both sides serve" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["switch", "--now", BLUE.text()])
    assert all(side in BLUE.text() for side in SIDES)


def test_a_side_that_is_left_has_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leave", "--to", "green", "--now", Weights(50, 50).text()]) == 0
    assert Weights.parse(capsys.readouterr().out) == BLUE


def test_a_step_is_refused_if_somebody_moved_the_traffic_since_the_one_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    step = ["switch", "--to", "green", "--share", "50", "--expected", "5", "--now"]
    assert main([*step, Weights(95, 5).text()]) == 0
    assert Weights.parse(capsys.readouterr().out) == Weights(50, 50)
    assert main([*step, BLUE.text()]) == 1
    assert "green has 0 percent and not 5: the traffic was moved since" in capsys.readouterr().err
