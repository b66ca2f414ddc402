import json
from pathlib import Path
from typing import Any

import pytest

from infra.config import EnvironmentName, RunSettings, Weights, load_environment
from tests.synth.conftest import ENVIRONMENTS, Synthesised
from tests.synth.terraform import Stack, resources


@pytest.fixture(params=ENVIRONMENTS)
def stack(request: pytest.FixtureRequest, synthesised: Synthesised) -> Stack:
    return synthesised(request.param)["edge"]


def with_weights(folder: Path, weights: Weights) -> Stack:
    from cdktf import App  # noqa: PLC0415 -- starts node

    from infra.stacks.edge import EdgeStack  # noqa: PLC0415

    environment = load_environment(RunSettings(environment=EnvironmentName.PRODUCTION))
    app = App(outdir=str(folder))
    EdgeStack(app, "edge", environment=environment, weights=weights)
    app.synth()
    text = (folder / "stacks" / "edge" / "cdk.tf.json").read_text()
    found: Stack = json.loads(text)
    return found


def by_side(stack: Stack) -> dict[str, dict[str, Any]]:
    return {record["set_identifier"]: record for record in resources(stack, "aws_route53_record")}


def test_one_weighted_record_for_each_side_under_one_name(stack: Stack) -> None:
    records = by_side(stack)
    assert set(records) == {"blue", "green"}
    assert len({(each["name"], each["type"], each["zone_id"]) for each in records.values()}) == 1
    assert records["blue"]["name"].startswith("events.")


def test_blue_is_light_as_the_variable_file_says(stack: Stack) -> None:
    weights = {side: record["weighted_routing_policy"]["weight"] for side, record in by_side(stack).items()}
    assert weights == json.loads((Path(__file__).parents[2] / "infra" / "weights.json").read_text())


def test_each_side_is_overruled_by_its_own_health(stack: Stack) -> None:
    records = by_side(stack)
    checks = stack["resource"]["aws_route53_health_check"]
    alarms = stack["resource"]["aws_cloudwatch_metric_alarm"]
    for side, record in records.items():
        assert record["alias"]["evaluate_target_health"] is True
        check = checks[record["health_check_id"].split(".")[1]]
        assert check["insufficient_data_health_status"] == "LastKnownStatus"
        alarm = alarms[check["cloudwatch_alarm_name"].split(".")[1]]
        assert f"-{side}-collect" in alarm["alarm_name"]
        assert alarm["metric_name"] == "HealthyHostCount"


def test_edge_finds_the_sides_by_name_only(stack: Stack) -> None:
    assert "terraform_remote_state" not in stack.get("data", {})
    names = {each["name"] for each in stack["data"]["aws_lb"].values()}
    assert {name.split("-", 2)[2] for name in names} == {"blue-collect", "green-collect"}


def test_the_sides_load_balancers_have_the_names_edge_looks_for(synthesised: Synthesised) -> None:
    for name in ENVIRONMENTS:
        stacks = synthesised(name)
        for kind in ("aws_lb", "aws_lb_target_group"):
            sought = {each["name"] for each in stacks["edge"]["data"][kind].values()}
            made = {each["name"] for side in ("blue", "green") for each in resources(stacks[side], kind)}
            assert sought <= made


@pytest.mark.parametrize(("blue", "green"), [(0, 100), (95, 5), (50, 50)])
@pytest.mark.usefixtures("synthesised")
def test_a_switch_changes_the_weights_and_nothing_else(tmp_path: Path, blue: int, green: int) -> None:
    before = with_weights(tmp_path / "before", Weights(blue=100, green=0))
    after = with_weights(tmp_path / "after", Weights(blue=blue, green=green))
    assert before != after
    for side, weight in {"blue": blue, "green": green}.items():
        policy = by_side(after)[side]["weighted_routing_policy"]
        assert policy == {"weight": weight}
        by_side(before)[side]["weighted_routing_policy"] = policy
    before["output"]["weights"] = after["output"]["weights"]
    assert before == after
