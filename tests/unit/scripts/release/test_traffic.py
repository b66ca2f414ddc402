"""Traffic moves change records and parameter together or not at all."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from pipelines.control.backends.aws.weighted_records import NoRecordsError, Traffic, TrafficSettings
from scripts.release.traffic import dark
from shared.contracts.side_weights import Weights, WrongWeightsError

DOMAIN = "hifi.test"
SETTINGS = TrafficSettings(
    region="eu-west-1",
    zone="",
    host="events.hifi.test",
    management_hosts=("api.hifi.test", "console.hifi.test"),
    weights_parameter="/hifi-test/weights",
    closed_parameter="/hifi-test/closed-sides",
)


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[Traffic]:
    """An environment with only its foundation deployed."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        made = boto3.client("route53").create_hosted_zone(Name=DOMAIN, CallerReference="zone")
        traffic = Traffic.at(replace(SETTINGS, zone=made["HostedZone"]["Id"]))
        traffic.ssm.put_parameter(
            Name=SETTINGS.weights_parameter, Type="String", Value='{"blue":100,"green":0}'
        )
        traffic.ssm.put_parameter(Name=SETTINGS.closed_parameter, Type="String", Value="[]")
        yield traffic


@pytest.fixture
def traffic(empty: Traffic) -> Traffic:
    """An environment with edge and the light side blue."""
    (zone,) = empty.route53.list_hosted_zones()["HostedZones"]
    for side, weight in (("blue", 100), ("green", 0)):
        check = empty.route53.create_health_check(
            CallerReference=side,
            HealthCheckConfig={"Type": "HTTPS", "FullyQualifiedDomainName": f"{side}.hifi.test"},
        )
        for host in (SETTINGS.host, *SETTINGS.management_hosts):
            record = {
                "Name": host,
                "Type": "CNAME",
                "SetIdentifier": side,
                "Weight": weight,
                "TTL": 30,
                "HealthCheckId": check["HealthCheck"]["Id"],
                "ResourceRecords": [{"Value": f"{side}.hifi.test"}],
            }
            change = {"Changes": [{"Action": "CREATE", "ResourceRecordSet": record}]}
            empty.route53.change_resource_record_sets(HostedZoneId=zone["Id"], ChangeBatch=change)
    return empty


def records(traffic: Traffic, host: str = SETTINGS.host) -> dict[str, dict[str, Any]]:
    (zone,) = traffic.route53.list_hosted_zones()["HostedZones"]
    found = traffic.route53.list_resource_record_sets(HostedZoneId=zone["Id"])["ResourceRecordSets"]
    return {
        each["SetIdentifier"]: each
        for each in found
        if each["Name"] == f"{host}." and "SetIdentifier" in each
    }


def checks(traffic: Traffic) -> dict[str, tuple[bool, bool]]:
    """Whether the health check of each side is disabled and inverted."""
    found = {}
    for side, record in records(traffic).items():
        check = traffic.route53.get_health_check(HealthCheckId=record["HealthCheckId"])
        config = check["HealthCheck"]["HealthCheckConfig"]
        found[side] = (config.get("Disabled", False), config.get("Inverted", False))
    return found


def test_a_switch_moves_records_and_parameter_and_nothing_else(traffic: Traffic) -> None:
    before = records(traffic)
    traffic.set_weights(Weights(blue=5, green=95))
    after = records(traffic)
    assert {side: each.pop("Weight") for side, each in after.items()} == {"blue": 5, "green": 95}
    assert {side: each.pop("Weight") for side, each in before.items()} == {"blue": 100, "green": 0}
    assert after == before
    assert traffic.weights() == Weights(blue=5, green=95)


@pytest.mark.parametrize(
    ("weights", "leading"),
    [
        (Weights(blue=95, green=5), {"blue": 100, "green": 0}),
        (Weights(blue=50, green=50), {"blue": 100, "green": 0}),
        (Weights(blue=49, green=51), {"blue": 0, "green": 100}),
    ],
)
def test_people_are_not_divided_but_go_to_the_side_with_more(
    traffic: Traffic, weights: Weights, leading: dict[str, int]
) -> None:
    traffic.set_weights(weights)
    for host in SETTINGS.management_hosts:
        assert {side: each["Weight"] for side, each in records(traffic, host).items()} == leading


def test_a_switch_that_route_53_refuses_leaves_the_weights_as_they_are(traffic: Traffic) -> None:
    refused = ClientError({"Error": {"Code": "Throttling"}}, "ChangeResourceRecordSets")
    with (
        patch.object(traffic.route53, "change_resource_record_sets", side_effect=refused),
        pytest.raises(ClientError),
    ):
        traffic.set_weights(Weights(blue=0, green=100))
    assert traffic.weights() == Weights(blue=100, green=0)


@pytest.mark.parametrize(("weights", "side"), [(Weights(100, 0), "green"), (Weights(0, 100), "blue")])
def test_the_dark_side_is_the_one_without_traffic(weights: Weights, side: str) -> None:
    assert dark(weights) == side


@pytest.mark.parametrize("weights", [Weights(50, 50), Weights(95, 5)])
def test_while_both_serve_none_is_dark(weights: Weights) -> None:
    with pytest.raises(WrongWeightsError, match="both sides serve"):
        dark(weights)


def test_without_edge_there_is_nothing_to_switch(empty: Traffic) -> None:
    with pytest.raises(NoRecordsError, match="deploy the edge stack first"):
        empty.set_weights(Weights(blue=0, green=100))
    assert empty.weights() == Weights(blue=100, green=0)


def test_a_dark_side_is_closed_while_it_is_changed(traffic: Traffic) -> None:
    traffic.close("green")
    traffic.close("green")
    assert checks(traffic) == {"blue": (False, False), "green": (True, True)}
    assert traffic.closed() == ["green"]
    traffic.open("green")
    assert checks(traffic) == {"blue": (False, False), "green": (False, False)}
    assert traffic.closed() == []


def test_a_side_with_traffic_cannot_be_closed(traffic: Traffic) -> None:
    with pytest.raises(WrongWeightsError, match="blue has traffic"):
        traffic.close("blue")
    assert checks(traffic)["blue"] == (False, False)
