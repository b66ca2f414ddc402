"""The AWS backend's answers to the deployer; the clusters are simulated, AWS is moto's."""

import json
from collections.abc import Iterator

import boto3
import msgspec
import pytest
from moto import mock_aws

from pipelines.control.backends.aws.backend import AwsBackend
from pipelines.control.backends.aws.settings import AwsSettings
from pipelines.control.backends.aws.versions import version_key
from pipelines.control.deploy.backend import BackendError, Obstacle, SideMinute
from shared.contracts.scorecard import MinuteCard
from shared.contracts.side_weights import Weights
from shared.dynamodb.client import create_table
from shared.dynamodb.document_rows import DOCUMENT, TENANT
from shared.runtime.metrics import CanaryMetric
from tests.harness.fake_kube import FakeKube

REGION, BUCKET, CLOSED = "eu-west-1", "hifi-test-versions", "/hifi-test/closed-sides"
FIRST, LAST = 11, 13
METRICS, MINUTES = "canary/metrics", "observe/v1/minutes"
WEIGHTS = "/hifi-test/weights"
NO_BROKER = "127.0.0.1:1"
FORMER = "b-1.former.kafka.invalid:9098,b-2.former.kafka.invalid:9098"
ANEW = "b-1.anew.kafka.invalid:9098,b-2.anew.kafka.invalid:9098"
GROWN = "b-2.former.kafka.invalid:9098,b-3.former.kafka.invalid:9098"
"""Brokers of green when a version was stored; after it was made anew; after one was added and one removed."""


class Side:
    """A side with a clock that the test moves, and a canary with scripted answers."""

    def __init__(self) -> None:
        self.kube, self.now = FakeKube("canary", "observe"), 0.0
        cards = [
            MinuteCard(tenant="*", minute=minute, settled=True, total=100, good=100)
            for minute in range(FIRST, LAST + 1)
        ]
        self.kube.answers[MINUTES] = msgspec.json.encode(cards)
        self.backend = AwsBackend(settings(), lambda: self.now, lambda: self.now)

    def says(self, changed: int) -> None:
        lines = [f'{CanaryMetric.WRONG}_total{{pipe="{pipe}"}} {n}' for pipe, n in (("a", 1), ("b", changed))]
        self.kube.answers[METRICS] = "\n".join([*lines, ""]).encode()

    def minutes_at(self, minute: int) -> list[SideMinute]:
        self.now = 60.0 * minute + 30
        return list(self.backend.minutes("green", FIRST, LAST))

    def changed(self) -> list[int]:
        return [each.changed for each in self.minutes_at(LAST)]


def settings() -> AwsSettings:
    return AwsSettings(
        documents_table="documents",
        documents_endpoint=None,
        aws_region=REGION,
        aws_endpoint=None,
        aws_prefix="hifi-test",
        aws_versions=BUCKET,
        aws_checkpoints="hifi-test-checkpoints",
        aws_blue_kafka="arn:none",
        aws_green_kafka="arn:none",
        aws_blue_bootstrap=NO_BROKER,
        aws_green_bootstrap=NO_BROKER,
        aws_zone="zone",
        aws_events_host="events.hifi.test",
        aws_management_hosts="api.hifi.test",
        aws_weights_parameter=WEIGHTS,
        aws_closed_parameter=CLOSED,
    )


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        yield


@pytest.fixture
def side(monkeypatch: pytest.MonkeyPatch) -> Side:
    found = Side()
    monkeypatch.setattr("pipelines.control.backends.aws.backend.eks_api", lambda *_: found.kube)
    return found


def test_minutes_have_the_events_that_arrived_changed_in_them(side: Side) -> None:
    for minute, changed in ((10, 4), (11, 6), (12, 6), (13, 7)):
        side.says(changed)
        found = side.minutes_at(minute)
    assert [each.minute for each in found] == [11, 12, 13]
    assert [each.changed for each in found] == [2, 0, 1]
    assert {(each.cpu_seconds, each.memory_bytes) for each in found} == {(None, None)}


@pytest.mark.parametrize("answer", [None, b"<html>", b"\xff"])
def test_a_canary_that_does_not_answer_keeps_what_it_said_last(side: Side, answer: bytes | None) -> None:
    side.says(4)
    side.minutes_at(10)
    if answer is None:
        del side.kube.answers[METRICS]
    else:
        side.kube.answers[METRICS] = answer
    assert [each.changed for each in side.minutes_at(11)] == [0, 0, 0]
    side.says(6)
    side.minutes_at(12)
    assert side.changed() == [0, 2, 0]


def test_a_side_without_a_canary_has_minutes(side: Side) -> None:
    side.kube.end("canary")
    assert [each.total for each in side.minutes_at(12)] == [100, 100, 100]


def test_a_new_canary_counts_from_its_start(side: Side) -> None:
    for minute, changed in ((10, 9), (11, 2), (12, 3)):
        side.says(changed)
        side.minutes_at(minute)
    assert side.changed() == [3, 1, 0], "with the event of the other pipe"


def test_the_canary_is_asked_every_five_seconds_at_most(side: Side) -> None:
    side.says(0)
    for side.now in (600, 601, 604.9, 605):
        side.backend.minutes("green", FIRST, LAST)
    assert [each for each in side.kube.asked if each == METRICS] == [METRICS, METRICS]


@pytest.fixture
def closed() -> AwsBackend:
    """Green is closed, 1.0 is the only version, 0.9 was stored empty. There is no cluster and no broker."""
    s3, ssm = boto3.client("s3"), boto3.client("ssm")
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_object(Bucket=BUCKET, Key=version_key("1.0", "green"), Body=b'[{"kind": "Namespace"}]')
    s3.put_object(Bucket=BUCKET, Key=version_key("0.9", "green"), Body=b"[]")
    ssm.put_parameter(Name=CLOSED, Type="String", Value='["green"]')
    return AwsBackend(settings())


def obstacles(backend: AwsBackend, side: str, version: str) -> list[Obstacle]:
    return list(backend.obstacles(side, version) or ())


def test_a_closed_side_is_named_with_what_opens_it_while_nothing_else_answers(closed: AwsBackend) -> None:
    (found,) = obstacles(closed, "green", "1.0")
    assert not found.lasting
    assert found.text == closed.closed("green")
    assert "green is closed to traffic" in found.text
    assert "`python -m scripts.release.traffic open green`" in found.text


def test_a_closed_side_is_named_beside_a_version_that_is_not_there(closed: AwsBackend) -> None:
    found = obstacles(closed, "green", "2.0")
    assert [(each.text == closed.closed("green"), each.lasting) for each in found] == [
        (True, False), (False, True),
    ]  # fmt: skip
    assert closed.closed("blue") == ""
    assert [each.lasting for each in obstacles(closed, "blue", "2.0")] == [True]


def test_a_side_that_is_closed_or_takes_no_events_does_not_begin_to_get_traffic(
    closed: AwsBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Route 53 would keep sending everything to the other side, which the deployer then stops."""
    kube = FakeKube("observe", "collect")
    kube.end("collect")
    monkeypatch.setattr("pipelines.control.backends.aws.backend.eks_api", lambda *_: kube)
    create_table(boto3.client("dynamodb"), "documents", TENANT, DOCUMENT)
    ssm, before = boto3.client("ssm"), Weights(blue=100, green=0)
    ssm.put_parameter(Name=WEIGHTS, Type="String", Value=before.text())
    with pytest.raises(BackendError, match=r"green is closed to traffic .* open green` opens it"):
        closed.set_weights({"blue": 0, "green": 100}, fence=1)
    assert dict(closed.weights()) == {"blue": 100, "green": 0}
    ssm.put_parameter(Name=CLOSED, Type="String", Value="[]", Overwrite=True)
    with pytest.raises(BackendError, match="green takes no events: no pod of collect is ready there"):
        closed.set_weights({"blue": 0, "green": 100}, fence=1)
    kube.pods = [*kube.pods, "collect"]
    with pytest.raises(BackendError, match="zone"):  # Route 53 is called now: there is no zone
        closed.set_weights({"blue": 0, "green": 100}, fence=1)


def test_a_version_that_is_not_stored_for_a_side_cannot_be_started_again_there(closed: AwsBackend) -> None:
    assert closed.unstartable("green", "1.0") == ""
    found = closed.unstartable("blue", "1.0")
    assert "there is no version 1.0 for blue" in found
    assert "scripts/release/publish_version.sh 1.0" in found


def test_a_version_that_was_stored_without_manifests_is_none(closed: AwsBackend) -> None:
    for _ in range(2):
        lasting = [each.text for each in obstacles(closed, "green", "0.9") if each.lasting]
        assert lasting == ["there is no version 0.9 for green"]
        assert "there is no version 0.9 for green" in closed.unstartable("green", "0.9")


@pytest.mark.parametrize(
    ("own", "started"),
    [(ANEW, ANEW), (FORMER, FORMER), (GROWN, FORMER)],
    ids=("made anew", "the same", "one added, one removed"),
)
def test_a_version_is_started_with_brokers_that_its_side_has_though_it_was_made_anew_since(
    monkeypatch: pytest.MonkeyPatch, own: str, started: str
) -> None:
    """`hifi switch` and rollbacks start versions that were stored long ago."""
    kube, config = FakeKube(), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "side-1"}}
    monkeypatch.setattr("pipelines.control.backends.aws.backend.eks_api", lambda *_: kube)
    create_table(boto3.client("dynamodb"), "documents", TENANT, DOCUMENT)
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    stored = config | {"data": side_values(FORMER)}
    s3.put_object(Bucket=BUCKET, Key=version_key("1.0", "green"), Body=json.dumps([stored]).encode())
    backend = AwsBackend(settings().model_copy(update={"aws_green_bootstrap": f"iam://{own}"}))
    assert backend.unstartable("green", "1.0") == ""
    backend.start("green", "1.0", fence=1)
    found = kube.get(kube.path(config))
    assert found is not None
    assert found["data"] == side_values(started)


def side_values(brokers: str) -> dict[str, str]:
    """A side's values as a release writes them: its brokers for all processes and for KEDA."""
    return {"HIFI_BOOTSTRAP": f"iam://{brokers}", "HIFI_SIDE": "green", "KAFKA_BROKERS": brokers}
