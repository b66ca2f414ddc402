"""Records and parameter of the weights converge, whatever happened to an earlier change; AWS is moto's."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError
from moto import mock_aws

from pipelines.control.backends.aws.fenced_weights import FencedWeights
from pipelines.control.backends.aws.weighted_records import Traffic, TrafficSettings
from pipelines.control.deploy.backend import BackendError
from shared.dynamodb.client import create_table
from shared.dynamodb.document_rows import DOCUMENT, TENANT

TABLE, REGION = "documents", "eu-west-1"
BLUE, GREEN, MOSTLY_BLUE = ({"blue": share, "green": 100 - share} for share in (100, 0, 90))
SETTINGS = TrafficSettings(
    region=REGION,
    zone="",
    host="events.hifi.test",
    management_hosts=("api.hifi.test",),
    weights_parameter="/hifi-test/weights",
    closed_parameter="/hifi-test/closed-sides",
)


class Edge:
    """Both sides' records and the parameters, with a deployer's process that changes them."""

    def __init__(self) -> None:
        self.taking, self.silent = {"blue", "green"}, set[str]()
        create_table(boto3.client("dynamodb"), TABLE, TENANT, DOCUMENT)
        zone = boto3.client("route53").create_hosted_zone(Name="hifi.test", CallerReference="zone")
        self.traffic = Traffic.at(replace(SETTINGS, zone=zone["HostedZone"]["Id"]))
        self.store(SETTINGS.weights_parameter, '{"blue": 100, "green": 0}')
        self.store(SETTINGS.closed_parameter, "[]")
        for host in (SETTINGS.host, *SETTINGS.management_hosts):
            self.put_records("CREATE", host, BLUE)

    def store(self, parameter: str, value: str) -> None:
        self.traffic.ssm.put_parameter(Name=parameter, Type="String", Value=value, Overwrite=True)

    def put_records(self, action: str, host: str, weights: dict[str, int]) -> None:
        records = [
            {"Name": host, "Type": "CNAME", "SetIdentifier": side, "TTL": 30, "Weight": weight}
            | {"ResourceRecords": [{"Value": f"{side}.hifi.test"}]}
            for side, weight in weights.items()
        ]
        changes = [{"Action": action, "ResourceRecordSet": each} for each in records]
        self.traffic.route53.change_resource_record_sets(
            HostedZoneId=self.traffic.settings.zone, ChangeBatch={"Changes": changes}
        )

    def deployer(self) -> FencedWeights:
        return FencedWeights(self.traffic, TABLE, None, self._takes_events)

    def _takes_events(self, side: str) -> bool:
        if side in self.silent:
            raise BackendError(f"the cluster of {side} does not answer")
        return side in self.taking

    def records(self, host: str = SETTINGS.host) -> dict[str, int]:
        zone = self.traffic.settings.zone
        found = self.traffic.route53.list_resource_record_sets(HostedZoneId=zone)["ResourceRecordSets"]
        return {each["SetIdentifier"]: each["Weight"] for each in found if each["Name"].rstrip(".") == host}

    def agrees_on(self, weights: dict[str, int]) -> bool:
        return self.records() == weights == self.traffic.weights()._asdict()

    def counted(self) -> Any:
        """The calls that change records; they take effect."""
        call = self.traffic.route53.change_resource_record_sets
        return patch.object(self.traffic.route53, "change_resource_record_sets", side_effect=call)

    def answers_lost(self) -> Any:
        """Route 53 makes changes, but its answers are lost."""
        call = self.traffic.route53.change_resource_record_sets

        def change(**given: Any) -> None:
            call(**given)
            raise ReadTimeoutError(endpoint_url="route53")

        return patch.object(self.traffic.route53, "change_resource_record_sets", side_effect=change)


@pytest.fixture
def edge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Edge]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        yield Edge()


def test_the_former_weights_are_written_though_the_change_after_them_seemed_to_fail(edge: Edge) -> None:
    """Route 53 made it, and the parameter was restored: by the parameter alone nothing was left to do."""
    deployer = edge.deployer()
    deployer.set_weights(BLUE, fence=1)
    with edge.answers_lost(), pytest.raises(ReadTimeoutError):
        deployer.set_weights(GREEN, fence=1)
    assert (edge.records(), edge.traffic.weights()._asdict()) == (GREEN, BLUE)
    deployer.set_weights(BLUE, fence=1)
    assert edge.agrees_on(BLUE)


@pytest.mark.parametrize("host", [SETTINGS.host, *SETTINGS.management_hosts])
def test_records_that_do_not_have_the_weights_of_the_parameter_get_them(edge: Edge, host: str) -> None:
    """For example after a crash between the two writes, or a manual change."""
    deployer = edge.deployer()
    deployer.set_weights(BLUE, fence=1)
    edge.put_records("UPSERT", host, GREEN)
    deployer.set_weights(BLUE, fence=1)
    assert edge.records(host) == BLUE
    assert edge.agrees_on(BLUE)


def test_weights_that_hold_are_not_written_again_by_the_same_deployer(edge: Edge) -> None:
    deployer = edge.deployer()
    with edge.counted() as changes:
        for _ in range(3):
            deployer.set_weights(MOSTLY_BLUE, fence=1)
        assert changes.call_count == 1
        deployer.set_weights(BLUE, fence=1)
        assert changes.call_count == 2
    assert edge.agrees_on(BLUE)


def test_a_deployer_that_leads_again_writes_the_weights_itself(edge: Edge) -> None:
    """Route 53 has no fence: a change by the deployer that led meanwhile may still arrive."""
    deployer = edge.deployer()
    deployer.set_weights(MOSTLY_BLUE, fence=1)
    with edge.counted() as changes:
        deployer.set_weights(MOSTLY_BLUE, fence=3)
        assert changes.call_count == 1
    assert edge.agrees_on(MOSTLY_BLUE)


def test_a_side_that_takes_no_events_gets_no_traffic(edge: Edge) -> None:
    """While one side is unhealthy, Route 53 sends all to the other one, which would be stopped next."""
    deployer = edge.deployer()
    deployer.set_weights(BLUE, fence=1)
    edge.taking = {"blue"}
    with pytest.raises(BackendError, match="green takes no events"):
        deployer.set_weights(GREEN, fence=1)
    assert edge.agrees_on(BLUE)
    edge.taking = set()
    deployer.set_weights(BLUE, fence=1)  # it has all traffic already


def test_a_side_that_takes_no_events_any_more_gets_no_more_than_it_has(edge: Edge) -> None:
    deployer = edge.deployer()
    deployer.set_weights(MOSTLY_BLUE, fence=1)
    edge.taking = {"blue"}
    with pytest.raises(BackendError, match="green takes no events"):
        deployer.set_weights(GREEN, fence=1)
    assert edge.agrees_on(MOSTLY_BLUE)


def test_the_way_back_to_a_side_that_serves_does_not_wait_for_a_cluster_that_does_not_answer(
    edge: Edge,
) -> None:
    deployer = edge.deployer()
    deployer.set_weights(MOSTLY_BLUE, fence=1)
    edge.silent = {"blue", "green"}
    deployer.set_weights(BLUE, fence=1)
    assert edge.agrees_on(BLUE)
    with pytest.raises(BackendError, match="does not answer"):
        deployer.set_weights(MOSTLY_BLUE, fence=1)
    assert edge.agrees_on(BLUE)
