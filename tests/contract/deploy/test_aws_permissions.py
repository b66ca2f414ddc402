"""The deployer's role in AWS allows the calls that a deployer makes, and no others."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.client import BaseClient

from infra.components.identity.deployer_statements import deployer_statements
from infra.config import EnvironmentName, RunSettings, load_environment
from pipelines.control.backends.aws.fenced_weights import FencedWeights
from pipelines.control.backends.aws.maintenance import maintenance
from pipelines.control.backends.aws.s3_checkpoints import S3Checkpoints
from pipelines.control.backends.aws.versions import VersionStore
from pipelines.control.backends.aws.weighted_records import Traffic
from shared.contracts.control_table import LEASES
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.release_requests import Request
from shared.contracts.release_steps import Kind
from shared.contracts.releases import DEPLOYER, SideState
from shared.dynamodb.activity_register import ActivityRegister
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.lease import Lease
from shared.dynamodb.release_store import ReleaseStore
from shared.runtime.clock import wall_clock
from tests.contract.deploy.test_aws_parts import BUCKET, DOMAIN, SETTINGS, TABLE
from tests.harness.local_aws import REGION, client, local_aws

_NAMES = {"s3:ListObjectsV2": "s3:ListBucket"}
"""IAM's names of operations, where they differ."""

_ITEMS = {"ConditionCheck": "ConditionCheckItem", "Delete": "DeleteItem", "Put": "PutItem"}
_ONLY_IN_AWS = {"kms:Decrypt", "kms:GenerateDataKey", "eks:DescribeNodegroup"}
"""Actions that AWS needs on behalf of a call, or that need nodes: the simulated cluster has none."""

_CLUSTER = "hifi-test-blue"


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The IAM actions of all AWS calls from now on."""
    found: set[str] = set()
    call = BaseClient._make_api_call

    def noted(self: Any, operation: str, parameters: dict[str, Any]) -> Any:
        service = self.meta.service_model.signing_name
        names = [operation]
        if operation == "TransactWriteItems":
            names = [_ITEMS[kind] for item in parameters["TransactItems"] for kind in item]
        found.update(_NAMES.get(f"{service}:{name}", f"{service}:{name}") for name in names)
        return call(self, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", noted)
    yield found


def test_the_role_allows_what_a_deployer_calls_and_no_more(called: set[str]) -> None:
    with local_aws() as url:
        zone, arn = make(url)
        called.clear()
        act_on_the_sides(url, zone, arn)
        write_down(url)
    allowed = {
        action
        for each in deployer_statements(
            load_environment(RunSettings(environment=EnvironmentName.PRODUCTION)),
            zone_arn="zone",
            key_arns={"data": "data", "images": "images"},
        )
        for action in each.actions
        if not action.startswith("kafka-cluster:")
    }
    assert called == allowed - _ONLY_IN_AWS


def make(url: str) -> tuple[str, str]:
    """Create what foundation, the sides and edge declare; returns the zone's id and an MSK cluster's ARN."""
    DocumentTable(TABLE, url).ensure()
    region: Any = {"LocationConstraint": REGION}
    client("s3", url).create_bucket(Bucket=BUCKET, CreateBucketConfiguration=region)
    ssm, route53 = client("ssm", url), client("route53", url)
    for name, value in (
        (SETTINGS.weights_parameter, '{"blue": 100, "green": 0}'),
        (SETTINGS.closed_parameter, "[]"),
    ):
        ssm.put_parameter(Name=name, Type="String", Value=value)
    zone = str(route53.create_hosted_zone(Name=DOMAIN, CallerReference="zone")["HostedZone"]["Id"])
    record = {"Name": SETTINGS.host, "Type": "CNAME", "SetIdentifier": "blue", "TTL": 30, "Weight": 100}
    record |= {"ResourceRecords": [{"Value": "blue.x"}]}
    changes: Any = {"Changes": [{"Action": "CREATE", "ResourceRecordSet": record}]}
    route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch=changes)
    subnets: Any = {"subnetIds": ["subnet-1", "subnet-2"]}
    role = "arn:aws:iam::123456789012:role/it"
    client("eks", url).create_cluster(name=_CLUSTER, roleArn=role, resourcesVpcConfig=subnets)
    brokers: Any = {
        "BrokerNodeGroupInfo": {"ClientSubnets": ["subnet-1"], "InstanceType": "kafka.m7g.large"},
        "KafkaVersion": "4.1.x",
        "NumberOfBrokerNodes": 3,
    }
    made = client("kafka", url).create_cluster_v2(ClusterName=_CLUSTER, Provisioned=brokers)
    return zone, str(made["ClusterArn"])


def act_on_the_sides(url: str, zone: str, arn: str) -> None:
    """Make the backend's calls, except those to Kubernetes and the brokers."""
    s3 = client("s3", url)
    assert VersionStore(s3, BUCKET).manifests("1.0", "blue") is None
    checkpoints = S3Checkpoints(s3, BUCKET, "blue")
    for _ in range(2):
        checkpoints.replace("ingest", {"sources/0/0": b"{}"})
    assert checkpoints.read("ingest", "sources/0/0") == b"{}"
    traffic = Traffic(replace(SETTINGS, zone=zone), client("ssm", url), client("route53", url))
    weights = FencedWeights(traffic, TABLE, url, lambda _: True)
    weights.set_weights({"blue": 90, "green": 10}, fence=1)
    assert weights.closed() == []
    assert maintenance(client("kafka", url), arn, client("eks", url), _CLUSTER)


def write_down(url: str) -> None:
    """Make the calls with which a deployer takes the lead, gets permission to act and records progress."""
    lease = Lease(
        TABLE,
        url,
        keys={TENANT: LEASES, DOCUMENT: DEPLOYER},
        owner="a",
        seconds=5,
        monotonic=time.monotonic,
    )
    assert lease.held()
    register = ActivityRegister(
        TABLE, url, side="blue", owner="a", clock=wall_clock, monotonic=time.monotonic
    )
    held = register.begin(Action.REPLACE_CODE, "1.0", Stability(stable=True))
    assert isinstance(held, Activity)
    store = ReleaseStore(TABLE, url)
    release = store.request(Request(kind=Kind.DEPLOY, version="1.0", by="ann"), wall_clock)
    assert store.put(release, [register.guard(held)]) is not None
    assert store.ended(1) == []
    store.put_side(SideState(side="blue", at_ms=1))
    register.end(register.renew(held))
    lease.release()
