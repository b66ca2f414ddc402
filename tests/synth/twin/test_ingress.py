from tests.synth.terraform import address

from .references import Resource, Stack, certificate_of, follow, one, resources


def balancer(stack: Stack) -> Resource:
    return one(stack, "aws_lb", load_balancer_type="network")


def targets(stack: Stack) -> Resource:
    return one(stack, "aws_lb_target_group", protocol="TCP")


def test_customers_on_the_internet_reach_the_front_door(side: Stack) -> None:
    door = balancer(side)
    assert door["internal"] is False
    subnets = [follow(side, each) for each in door["subnets"]]
    assert len({each["availability_zone"] for each in subnets}) == 3
    # Without a route to an internet gateway no packet would arrive.
    assert all("-public-" in each["tags"]["Name"] for each in subnets)


def test_no_front_door_is_asked_for_before_the_way_to_the_internet_is_there(side: Stack) -> None:
    """AWS refuses public addresses in a VPC without an attached gateway."""
    (gateway,) = resources(side, "aws_internet_gateway")
    for door in resources(side, "aws_lb"):
        assert address(side, "aws_internet_gateway", gateway) in door["depends_on"]


def test_an_internal_front_door_has_no_public_address(internal: Stack) -> None:
    door = balancer(internal)
    assert door["internal"] is True
    subnets = [follow(internal, each) for each in door["subnets"]]
    assert len({each["availability_zone"] for each in subnets}) == 3
    assert all("-private-" in each["tags"]["Name"] for each in subnets)


def test_customers_of_an_internal_side_connect_by_privatelink(internal: Stack) -> None:
    service = one(internal, "aws_vpc_endpoint_service")
    (door,) = service["network_load_balancer_arns"]
    assert follow(internal, door) is balancer(internal)
    assert service["acceptance_required"] is True
    assert service["allowed_principals"] == ["arn:aws:iam::333333333333:root"]
    assert service["private_dns_name"] == "blue.events.hifi.example.com"
    # Otherwise the load balancer's group would refuse addresses of customers' networks.
    inbound = "enforce_security_group_inbound_rules_on_private_link_traffic"
    assert balancer(internal)[inbound] == "off"


def test_a_side_on_the_internet_needs_no_privatelink(side: Stack) -> None:
    assert not resources(side, "aws_vpc_endpoint_service")


def test_only_tls_with_the_certificate_of_the_events_host(side: Stack) -> None:
    listener = one(side, "aws_lb_listener", protocol="TLS")
    assert (listener["protocol"], listener["port"]) == ("TLS", 443)
    assert "TLS13" in listener["ssl_policy"]
    assert certificate_of(side, listener)["domain"].startswith("events.")


def test_requests_go_to_pods_that_are_ready(side: Stack) -> None:
    (action,) = one(side, "aws_lb_listener", protocol="TLS")["default_action"]
    group = follow(side, action["target_group_arn"])
    assert group["target_type"] == "ip"
    assert group["health_check"]["path"] == "/readyz"
    assert group["health_check"]["matcher"] == "200"


def test_the_balancer_reaches_collect_and_nothing_else(side: Stack) -> None:
    (group,) = balancer(side)["security_groups"]
    rules = resources(side, "aws_vpc_security_group_egress_rule")
    (out,) = [each for each in rules if each["security_group_id"] == group]
    port = targets(side)["port"]
    assert out["from_port"] == out["to_port"] == port
    admitted = [
        each
        for each in resources(side, "aws_vpc_security_group_ingress_rule")
        if each.get("referenced_security_group_id") == group
    ]
    assert [(each["security_group_id"], each["to_port"]) for each in admitted] == [
        (out["referenced_security_group_id"], port)
    ]


def test_edge_finds_balancer_and_targets_by_name(side: Stack, environment: str) -> None:
    name = f"hifi-{environment}-blue-collect"
    assert balancer(side)["name"] == targets(side)["name"] == name
    assert len(name) <= 32


def test_production_keeps_its_front_door(production: Stack) -> None:
    assert balancer(production)["enable_deletion_protection"] is True
