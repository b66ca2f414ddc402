"""Access of people and programs to a side's console and management API."""

from shared.runtime.uvicorn_config import keep_alive_seconds

from .references import Resource, Stack, certificate_of, follow, one, resources


def door(stack: Stack) -> Resource:
    return one(stack, "aws_lb", load_balancer_type="application")


def listener(stack: Stack) -> Resource:
    found = one(stack, "aws_lb_listener", protocol="HTTPS")
    assert follow(stack, found["load_balancer_arn"]) is door(stack)
    return found


def rules(stack: Stack) -> list[Resource]:
    """The listener's rules, in their order of evaluation."""
    found = resources(stack, "aws_lb_listener_rule")
    assert all(follow(stack, each["listener_arn"]) is listener(stack) for each in found)
    return sorted(found, key=lambda each: int(each["priority"]))


def test_the_exposure_of_the_management_plane_decides_its_addresses(side: Stack, internal: Stack) -> None:
    for stack, public in ((side, True), (internal, False)):
        assert door(stack)["internal"] is not public
        subnets = [follow(stack, each) for each in door(stack)["subnets"]]
        assert len({each["availability_zone"] for each in subnets}) == 3
        assert {"-public-" in each["tags"]["Name"] for each in subnets} == {public}


def test_only_tls_with_the_certificate_of_both_hosts(side: Stack) -> None:
    assert listener(side)["port"] == 443
    assert "TLS13" in listener(side)["ssl_policy"]
    assert certificate_of(side, listener(side))["domain"].startswith("api.")


def test_each_host_leads_to_its_own_pods_and_no_other_name_leads_anywhere(
    side: Stack, environment: str
) -> None:
    led = {}
    for rule in rules(side)[1:]:
        (condition,), (action,) = rule["condition"], rule["action"]
        (host,) = condition["host_header"]["values"]
        targets = follow(side, action["target_group_arn"])
        assert (targets["target_type"], targets["health_check"]["path"]) == ("ip", "/readyz")
        led[host.partition(".")[0]] = targets["name"]
    prefix = f"hifi-{environment}-blue"
    assert led == {"api": f"{prefix}-api", "console": f"{prefix}-console"}
    assert all(len(name) <= 32 for name in (*led.values(), door(side)["name"]))
    (default,) = listener(side)["default_action"]
    assert (default["type"], default["fixed_response"]["status_code"]) == ("fixed-response", "404")


def test_pods_keep_idle_connections_longer_than_the_load_balancer(side: Stack) -> None:
    """Otherwise a request may meet a connection that the pod has just closed, which people see as 502."""
    assert keep_alive_seconds("https://api.example.com") > door(side)["idle_timeout"]


def test_metrics_are_not_served_to_the_outside(side: Stack) -> None:
    first = rules(side)[0]
    (condition,), (action,) = first["condition"], first["action"]
    assert condition == {"path_pattern": {"values": ["/metrics"]}}
    assert action["fixed_response"]["status_code"] == "404"


def test_only_the_clients_of_the_management_plane_reach_it_and_it_reaches_pods_alone(internal: Stack) -> None:
    (group,) = door(internal)["security_groups"]
    admitted = [
        each
        for each in resources(internal, "aws_vpc_security_group_ingress_rule")
        if each["security_group_id"] == group
    ]
    assert [(each["cidr_ipv4"], each["to_port"]) for each in admitted] == [("10.0.0.0/8", 443)]
    out = one(internal, "aws_vpc_security_group_egress_rule", security_group_id=group)
    assert follow(internal, out["referenced_security_group_id"])["name"].endswith("-nodes")
    assert {each["port"] for each in resources(internal, "aws_lb_target_group")} == {out["to_port"]}


def test_a_pod_that_does_not_answer_raises_an_alarm(side: Stack) -> None:
    found = [
        each
        for each in resources(side, "aws_cloudwatch_metric_alarm")
        if each["namespace"] == "AWS/ApplicationELB"
    ]
    watched = {follow(side, each["dimensions"]["TargetGroup"])["name"] for each in found}
    assert {name.rpartition("-")[2] for name in watched} == {"api", "console"}
    assert all(each["alarm_actions"] for each in found)


def test_production_keeps_its_management_door(production: Stack) -> None:
    assert door(production)["enable_deletion_protection"] is True
