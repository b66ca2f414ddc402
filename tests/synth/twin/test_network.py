import re
from ipaddress import IPv4Network
from itertools import combinations

import pytest
from pydantic import ValidationError

from infra.components.network.subnet_plan import plan_zones
from infra.config import Environment, EnvironmentName, RunSettings, load_environment
from infra.naming import Side

from ..conftest import Synthesised
from .references import Resource, Stack, follow, one, resources

REGION_ZONES = {"eu-west-1a", "eu-west-1b", "eu-west-1c"}
WITH_DESCRIPTIONS = (
    "aws_security_group",
    "aws_vpc_security_group_egress_rule",
    "aws_vpc_security_group_ingress_rule",
)
DESCRIPTION = re.compile(r"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{1,255}")
"""EC2's syntax for descriptions of security groups and rules: no apostrophe, for example."""


def _subnets(stack: Stack, kind: str) -> list[Resource]:
    return [each for each in resources(stack, "aws_subnet") if f"-{kind}-" in each["tags"]["Name"]]


def _way_out(stack: Stack, subnet: Resource) -> Resource:
    """The default route of a subnet."""
    (table,) = [
        follow(stack, each["route_table_id"])
        for each in resources(stack, "aws_route_table_association")
        if follow(stack, each["subnet_id"]) is subnet
    ]
    (route,) = [
        each
        for each in resources(stack, "aws_route")
        if follow(stack, each["route_table_id"]) is table and each["destination_cidr_block"] == "0.0.0.0/0"
    ]
    return route


@pytest.mark.parametrize("kind", ["private", "public"])
def test_a_subnet_in_each_of_three_zones(side: Stack, kind: str) -> None:
    assert sorted(each["availability_zone"] for each in _subnets(side, kind)) == sorted(REGION_ZONES)


def test_subnets_share_the_range_without_overlap(side: Stack) -> None:
    whole = IPv4Network(one(side, "aws_vpc")["cidr_block"])
    blocks = [IPv4Network(each["cidr_block"]) for each in resources(side, "aws_subnet")]
    assert all(block.subnet_of(whole) for block in blocks)
    assert not any(one.overlaps(other) for one, other in combinations(blocks, 2))


def test_no_machine_gets_a_public_address(side: Stack) -> None:
    assert not any(each["map_public_ip_on_launch"] for each in resources(side, "aws_subnet"))


def test_private_subnets_leave_by_nat_only(side: Stack) -> None:
    for subnet in _subnets(side, "private"):
        route = _way_out(side, subnet)
        assert "gateway_id" not in route
        nat = follow(side, route["nat_gateway_id"])
        assert "gateway_id" in _way_out(side, follow(side, nat["subnet_id"]))


def test_in_production_no_zone_needs_another_to_get_out(production: Stack) -> None:
    for subnet in _subnets(production, "private"):
        nat = follow(production, _way_out(production, subnet)["nat_gateway_id"])
        assert follow(production, nat["subnet_id"])["availability_zone"] == subnet["availability_zone"]


def test_staging_pays_for_one_nat_gateway(synthesised: Synthesised) -> None:
    assert len(resources(synthesised("staging")["blue"], "aws_nat_gateway")) == 1


def test_s3_and_images_are_reached_inside(side: Stack) -> None:
    services = {
        each["service_name"].removeprefix("com.amazonaws.eu-west-1."): each
        for each in resources(side, "aws_vpc_endpoint")
    }
    assert services["s3"]["vpc_endpoint_type"] == "Gateway"
    tables = {follow(side, each)["tags"]["Name"] for each in services["s3"]["route_table_ids"]}
    assert len(tables) == 3
    for name in ("ecr.api", "ecr.dkr", "sts", "eks-auth"):
        assert services[name]["private_dns_enabled"]
        assert len(services[name]["subnet_ids"]) == 3


def test_all_flows_are_logged(side: Stack) -> None:
    log = one(side, "aws_flow_log")
    assert log["traffic_type"] == "ALL"
    assert follow(side, log["vpc_id"]) is one(side, "aws_vpc")
    assert follow(side, log["log_destination"])["retention_in_days"] > 0


def test_only_the_load_balancers_admit_a_range(side: Stack) -> None:
    rules = resources(side, "aws_vpc_security_group_ingress_rule")
    open_to_ranges = [each for each in rules if "cidr_ipv4" in each]
    assert {follow(side, each["security_group_id"])["name"] for each in open_to_ranges} == {
        follow(side, each["security_groups"][0])["name"] for each in resources(side, "aws_lb")
    }
    assert all(each["from_port"] == each["to_port"] == 443 for each in open_to_ranges)
    assert not any("cidr_ipv6" in each for each in rules)


def test_an_internal_front_door_admits_private_ranges_only(internal: Stack) -> None:
    rules = resources(internal, "aws_vpc_security_group_ingress_rule")
    ranges = [each["cidr_ipv4"] for each in rules if "cidr_ipv4" in each]
    assert ranges
    assert all(IPv4Network(each).is_private for each in ranges)


def test_the_default_group_lets_nothing_through(side: Stack) -> None:
    group = one(side, "aws_default_security_group")
    assert follow(side, group["vpc_id"]) is one(side, "aws_vpc")
    assert not group.get("ingress")
    assert not group.get("egress")


def test_ec2_takes_every_description_of_groups_and_rules(synthesised: Synthesised, environment: str) -> None:
    found = [
        each["description"]
        for stack in synthesised(environment).values()
        for kind in WITH_DESCRIPTIONS
        for each in resources(stack, kind)
    ]
    assert found
    assert [each for each in found if not DESCRIPTION.fullmatch(each)] == []


def test_a_range_too_small_for_three_zones_is_refused() -> None:
    facts = load_environment(RunSettings(environment=EnvironmentName.LOCAL)).model_dump()
    facts["cidrs"] |= {Side.BLUE: "10.20.0.0/24"}
    with pytest.raises(ValidationError, match=r"cidrs: 10\.20\.0\.0/24 .* too small"):
        Environment.model_validate(facts)


@pytest.mark.parametrize("prefix", [16, 18, 20])
def test_pods_get_almost_all_addresses(prefix: int) -> None:
    plan = plan_zones(IPv4Network(f"10.0.0.0/{prefix}"), region="eu-west-1")
    private = sum(zone.private.num_addresses for zone in plan)
    assert private * 4 == IPv4Network(f"10.0.0.0/{prefix}").num_addresses * 3
    assert all(zone.public.num_addresses >= 16 for zone in plan)
