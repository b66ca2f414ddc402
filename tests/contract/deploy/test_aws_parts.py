"""Parts of the backend for AWS against a simulated AWS."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest

from pipelines.control.backends.aws.eks import eks_token, token_source
from pipelines.control.backends.aws.fenced_weights import FencedWeights
from pipelines.control.backends.aws.s3_checkpoints import S3Checkpoints
from pipelines.control.backends.aws.versions import VersionStore, version_key
from pipelines.control.backends.aws.weighted_records import Traffic, TrafficSettings
from pipelines.control.backends.canary_metrics import proof
from pipelines.control.backends.checkpoints import query_positions, write_checkpoint
from pipelines.control.deploy.backend import FencedError
from scripts.release.publish_version import EmptyVersionError, OtherVersionError, publish
from shared.contracts.replay_range import REPLAY_FILE, encode_replay_range, replay_of
from shared.dynamodb.document_table import DocumentTable
from shared.runtime.metrics import CanaryMetric
from tests.harness.local_aws import REGION, client, local_aws
from tests.harness.token_reviews import signer

BUCKET, DOMAIN, TABLE = "hifi-test", "hifi.test", "documents"
SETTINGS = TrafficSettings(
    region=REGION,
    zone="",
    host=f"events.{DOMAIN}",
    management_hosts=(f"api.{DOMAIN}",),
    weights_parameter="/hifi-test/weights",
    closed_parameter="/hifi-test/closed-sides",
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with local_aws() as found:
        yield found


@pytest.fixture(scope="module")
def s3(url: str) -> Any:
    found = client("s3", url)
    found.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    return found


def test_a_checkpoint_on_s3_is_read_and_made_anew(s3: Any) -> None:
    store = S3Checkpoints(s3, BUCKET, "blue")
    for number, committed in ((9, True), (10, True), (11, False)):
        text = f'v1\n{{"conf":{{}}}}\n{{"collected":{{"0":{number}}}}}'.encode()
        s3.put_object(Bucket=BUCKET, Key=f"blue/ingest/offsets/{number}", Body=text)
        if committed:
            s3.put_object(Bucket=BUCKET, Key=f"blue/ingest/commits/{number}", Body=b"v1\n{}")
    assert query_positions(store) == {"ingest": {"collected/0": 10}}
    assert query_positions(S3Checkpoints(s3, BUCKET, "green")) == {}
    for _ in range(2):
        write_checkpoint(store, "ingest", {"collected/0": 4}, replay_of({}, {"collected": {"0": 7}}))
    assert query_positions(store) == {"ingest": {"collected/0": 4}}
    keys = {each["Key"] for each in s3.list_objects_v2(Bucket=BUCKET, Prefix="blue/")["Contents"]}
    assert keys == {"blue/ingest/sources/0/0", "blue/ingest/replay.json"}


class Stops:
    """An S3 client in a process that dies before it writes."""

    def __init__(self, s3: Any) -> None:
        self._s3 = s3

    def __getattr__(self, name: str) -> Any:
        return getattr(self._s3, name)

    def put_object(self, **_: Any) -> None:
        raise KeyboardInterrupt


def test_what_is_replayed_is_known_though_a_checkpoint_on_s3_was_being_made_anew(s3: Any) -> None:
    store, replay = S3Checkpoints(s3, BUCKET, "stopped"), replay_of({}, {"collected": {"0": 7}})
    write_checkpoint(store, "ingest", {"collected/0": 4}, replay)
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(S3Checkpoints(Stops(s3), BUCKET, "stopped"), "ingest", {"collected/0": 5}, replay)
    assert query_positions(store) == {}
    assert store.read("ingest", REPLAY_FILE) == encode_replay_range(replay)


def test_a_version_is_there_or_it_is_not(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key=version_key("1.0", "blue"), Body=b'[{"kind": "Namespace"}]')
    store = VersionStore(s3, BUCKET)
    assert store.manifests("1.0", "blue") == [{"kind": "Namespace"}]
    assert store.manifests("1.0", "green") is None


def test_a_name_means_one_version(s3: Any) -> None:
    for _ in range(2):
        publish(s3, BUCKET, "2.0", "blue", "kind: Namespace\n---\nkind: Service\n")
    assert VersionStore(s3, BUCKET).manifests("2.0", "blue") == [{"kind": "Namespace"}, {"kind": "Service"}]
    with pytest.raises(OtherVersionError, match=r"2\.0 of blue"):
        publish(s3, BUCKET, "2.0", "blue", "kind: Job\n")


@pytest.mark.parametrize("rendered", ["", "\n", "---\n---\n"])
def test_what_a_failed_rendering_leaves_is_not_stored_and_the_name_stays_free(s3: Any, rendered: str) -> None:
    with pytest.raises(EmptyVersionError, match=r"3\.0 of blue has no manifests"):
        publish(s3, BUCKET, "3.0", "blue", rendered)
    publish(s3, BUCKET, "3.0", "blue", "kind: Namespace\n")
    s3.delete_object(Bucket=BUCKET, Key=version_key("3.0", "blue"))


def test_a_version_that_was_stored_without_manifests_is_none_and_is_named(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key=version_key("4.0", "blue"), Body=b"[]")
    assert VersionStore(s3, BUCKET).manifests("4.0", "blue") is None
    with pytest.raises(OtherVersionError, match=rf"delete s3://{BUCKET}/4\.0/blue\.json"):
        publish(s3, BUCKET, "4.0", "blue", "kind: Namespace\n")


def weights(url: str, zone: str) -> FencedWeights:
    return FencedWeights(
        Traffic(replace(SETTINGS, zone=zone), client("ssm", url), client("route53", url)),
        TABLE,
        url,
        lambda _: True,
    )


def test_a_late_deployer_moves_no_traffic(url: str) -> None:
    DocumentTable(TABLE, url).ensure()
    ssm, route53 = client("ssm", url), client("route53", url)
    ssm.put_parameter(Name=SETTINGS.weights_parameter, Type="String", Value='{"blue": 100, "green": 0}')
    ssm.put_parameter(Name=SETTINGS.closed_parameter, Type="String", Value="[]")
    zone = route53.create_hosted_zone(Name=DOMAIN, CallerReference="zone")["HostedZone"]["Id"]
    for side in ("blue", "green"):
        record = {"Name": SETTINGS.host, "Type": "CNAME", "SetIdentifier": side, "TTL": 30, "Weight": 0}
        changes = [
            {"Action": "CREATE", "ResourceRecordSet": record | {"ResourceRecords": [{"Value": f"{side}.x"}]}}
        ]
        route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch={"Changes": changes})
    late, now = weights(url, zone), weights(url, zone)
    late.set_weights({"blue": 90, "green": 10}, fence=1)
    now.set_weights({"blue": 100, "green": 0}, fence=2)
    with pytest.raises(FencedError):
        late.set_weights({"blue": 0, "green": 100}, fence=1)
    assert now.weights() == late.weights() == (100, 0)
    found = route53.list_resource_record_sets(HostedZoneId=zone)["ResourceRecordSets"]
    assert {each["SetIdentifier"]: each["Weight"] for each in found if "Weight" in each} == {
        "blue": 100,
        "green": 0,
    }


def test_a_token_of_eks_is_a_signed_question_that_is_asked_anew_in_time() -> None:
    session = boto3.Session("AKIDTEST", "secret", region_name=REGION)
    assert signer(eks_token(session, "hifi-test-blue", REGION)) == "AKIDTEST"
    now = 0.0
    token = token_source(session, "hifi-test-blue", REGION, lambda: now)
    first = token()
    now = 599.0
    assert token() is first
    now = 601.0
    assert token() is not first


def test_an_event_proves_a_side_once_it_came_through_every_pipe() -> None:
    values = {
        CanaryMetric.ARRIVED + "_total": {"plain": 30, "masks": 28},
        CanaryMetric.WRONG + "_total": {"plain": 0, "masks": 1},
        CanaryMetric.DOUBLED + "_total": {"plain": 2, "masks": 0},
        CanaryMetric.MISSING: {"plain": 0, "masks": 3},
    }
    lines = [f'{name}{{pipe="{pipe}"}} {n}' for name, pipes in values.items() for pipe, n in pipes.items()]
    found = proof("\n".join([f"{CanaryMetric.ACKNOWLEDGED}_total 31", *lines, ""]))
    assert (found.sent, found.arrived, found.changed, found.doubled, found.missing) == (31, 28, 1, 2, 3)
    assert found.refused == 0
    assert found.examples == (
        "masks: 1 events arrived changed",
        "plain: 2 events arrived more than once",
        "masks: 3 events have not arrived",
    )
    assert proof("").arrived == 0
