from typing import Any

import pytest

from tests.synth.conftest import ENVIRONMENTS, INTERNAL, Synthesised
from tests.synth.terraform import Stack, resources


@pytest.fixture(params=ENVIRONMENTS)
def stack(request: pytest.FixtureRequest, synthesised: Synthesised) -> Stack:
    return synthesised(request.param)["edge"]


def by_side(stack: Stack) -> dict[str, dict[str, Any]]:
    return of_host(stack, "events")


def of_host(stack: Stack, host: str) -> dict[str, dict[str, Any]]:
    """A host's records by side."""
    records = resources(stack, "aws_route53_record")
    return {each["set_identifier"]: each for each in records if each["name"].startswith(f"{host}.")}


def test_one_weighted_record_for_each_side_under_one_name(stack: Stack) -> None:
    records = by_side(stack)
    assert set(records) == {"blue", "green"}
    assert len({(each["name"], each["type"], each["zone_id"]) for each in records.values()}) == 1
    assert records["blue"]["name"].startswith("events.")


def test_each_side_has_the_weight_that_the_parameter_holds(stack: Stack, synthesised: Synthesised) -> None:
    names = {each["name"]: key for key, each in stack["data"]["aws_ssm_parameter"].items()}
    (weights,) = (name for name in names if name.endswith("/weights"))
    held = f"jsondecode(data.aws_ssm_parameter.{names[weights]}.insecure_value)"
    for side, record in by_side(stack).items():
        assert record["weighted_routing_policy"]["weight"] == f"${{{held}.{side}}}"


def test_a_closed_side_is_unhealthy_whatever_its_alarm_says(stack: Stack) -> None:
    checks = stack["resource"]["aws_route53_health_check"]
    for side, record in by_side(stack).items():
        check = checks[record["health_check_id"].split(".")[1]]
        # Route 53 treats a disabled check as healthy, and an inverted one as unhealthy.
        assert check["disabled"] == check["invert_healthcheck"]
        assert check["disabled"].startswith("${contains(jsondecode(data.aws_ssm_parameter.")
        assert check["disabled"].endswith(f', "{side}")}}')


def test_edge_reads_the_parameters_that_foundation_makes(synthesised: Synthesised) -> None:
    for name in ENVIRONMENTS:
        stacks = synthesised(name)
        made = {each["name"] for each in resources(stacks["foundation"], "aws_ssm_parameter")}
        assert {each["name"] for each in stacks["edge"]["data"]["aws_ssm_parameter"].values()} == made


def test_the_weights_of_an_internal_edge_lead_through_the_sides_own_names(synthesised: Synthesised) -> None:
    stacks = synthesised(INTERNAL)
    records = resources(stacks["edge"], "aws_route53_record")
    weighted = by_side(stacks["edge"])
    hosts = {each["name"]: each for each in records if "set_identifier" not in each}
    for side, record in weighted.items():
        assert record["type"] == "CNAME"
        (host,) = record["records"]
        assert hosts[host]["alias"]
        # Customers' PrivateLink endpoints answer for this name in customers' networks.
        (service,) = resources(stacks[side], "aws_vpc_endpoint_service")
        assert service["private_dns_name"] == host
        assert record["ttl"] <= 60


def test_each_side_is_overruled_by_its_own_health(stack: Stack) -> None:
    records = by_side(stack)
    checks = stack["resource"]["aws_route53_health_check"]
    alarms = stack["resource"]["aws_cloudwatch_metric_alarm"]
    for side, record in records.items():
        assert record["alias"]["evaluate_target_health"] is True
        check = checks[record["health_check_id"].split(".")[1]]
        alarm = alarms[check["cloudwatch_alarm_name"].split(".")[1]]
        assert f"-{side}-collect" in alarm["alarm_name"]
        assert alarm["metric_name"] == "HealthyHostCount"


def test_a_changed_alarm_reaches_the_health_check(stack: Stack) -> None:
    """Route 53 copies an alarm's settings, and copies new ones only when the check is updated."""
    alarms = stack["resource"]["aws_cloudwatch_metric_alarm"]
    for check in resources(stack, "aws_route53_health_check"):
        key = check["cloudwatch_alarm_name"].split(".")[1]
        for field in ("evaluation_periods", "period", "statistic", "threshold", "treat_missing_data"):
            assert field in alarms[key]
            assert check["triggers"][field] == f"${{aws_cloudwatch_metric_alarm.{key}.{field}}}"


def test_a_side_that_lost_all_pods_of_collect_is_unhealthy_and_raises_its_alarm(
    synthesised: Synthesised,
) -> None:
    """Their targets leave the group, and an empty group has no data, not a zero."""
    for name in (*ENVIRONMENTS, INTERNAL):  # with an internal edge only this shows that a side is down
        edge = synthesised(name)["edge"]
        checks = resources(edge, "aws_route53_health_check")
        assert [each["insufficient_data_health_status"] for each in checks] == ["Unhealthy"] * 2
        alarms = resources(edge, "aws_cloudwatch_metric_alarm")
        assert [each["treat_missing_data"] for each in alarms] == ["breaching"] * 2


def test_edge_finds_the_sides_by_name_only(stack: Stack) -> None:
    assert "terraform_remote_state" not in stack.get("data", {})
    names = {each["name"] for each in stack["data"]["aws_lb"].values()}
    assert {name.split("-", 2)[2] for name in names} == {
        f"{side}-{balancer}" for side in ("blue", "green") for balancer in ("collect", "manage")
    }


def test_the_sides_load_balancers_have_the_names_edge_looks_for(synthesised: Synthesised) -> None:
    for name in ENVIRONMENTS:
        stacks = synthesised(name)
        for kind in ("aws_lb", "aws_lb_target_group"):
            sought = {each["name"] for each in stacks["edge"]["data"][kind].values()}
            made = {each["name"] for side in ("blue", "green") for each in resources(stacks[side], kind)}
            assert sought <= made


@pytest.mark.parametrize("host", ["api", "console"])
def test_people_and_programs_are_led_to_one_side_the_one_with_more_weight(stack: Stack, host: str) -> None:
    """Only one side's console knows a sign-in. The deployer decides the same in a switch."""
    records = of_host(stack, host)
    weights = {side: each["weighted_routing_policy"]["weight"] for side, each in by_side(stack).items()}
    held = {side: each.removeprefix("${").removesuffix("}") for side, each in weights.items()}
    assert {side: each["weighted_routing_policy"]["weight"] for side, each in records.items()} == {
        "blue": f"${{({held['blue']} >= {held['green']}) ? 100 : 0}}",
        "green": f"${{({held['green']} > {held['blue']}) ? 100 : 0}}",
    }


@pytest.mark.parametrize("host", ["api", "console"])
def test_people_and_programs_are_not_led_to_a_closed_or_silent_side(stack: Stack, host: str) -> None:
    for side, record in of_host(stack, host).items():
        assert record["health_check_id"] == by_side(stack)[side]["health_check_id"]
        assert record["alias"]["evaluate_target_health"] is True
        balancer = record["alias"]["name"].split(".")[2]
        assert stack["data"]["aws_lb"][balancer]["name"].endswith(f"-{side}-manage")
