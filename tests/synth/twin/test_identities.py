import json
from pathlib import Path

import pytest
import yaml

import infra
from pipelines.control.observe.dynamodb import EXPIRES
from shared.contracts.topics import Topic
from shared.contracts.topology import READERS

from ..conftest import Synthesised
from .references import Resource, Stack, follow, kafka_resource, one, resources, statements

_WORKLOADS = {
    "collect",
    "retry",
    "audit",
    "observe",
    "trace",
    "canary",
    "provision",
    "api",
    "spark",
    "topics",
    "readability",
}
_DEPLOYER = "deploy"
"""Its role belongs to foundation and to both sides: test_deployer.py tests it."""

_STRANGERS = {"console"}
"""Pods that do not use AWS."""

_ADDONS = {
    "cluster-autoscaler",
    "aws-load-balancer-controller",
    "keda-operator",
    "fluent-bit",
    "alertmanager",
}


def _associations(stack: Stack) -> dict[str, Resource]:
    found = {each["service_account"]: each for each in resources(stack, "aws_eks_pod_identity_association")}
    assert found.pop(_DEPLOYER)["namespace"] == "hifi"
    return found


def _allowed(stack: Stack, account: str) -> list[Resource]:
    """Statements of a service account's role."""
    role = follow(stack, _associations(stack)[account]["role_arn"])
    return statements(one(stack, "aws_iam_role_policy", name=role["name"]))


def _topics(stack: Stack, account: str, action: str) -> set[str]:
    """Topics that a service account has permissions for."""
    found = [
        kafka_resource(stack, arn)
        for each in _allowed(stack, account)
        if f"kafka-cluster:{action}" in each["Action"]
        for arn in each["Resource"]
    ]
    return {each[1] for each in found if each and each[0] == "topic"}


def test_every_pod_that_calls_aws_has_a_role(side: Stack) -> None:
    found = _associations(side)
    assert set(found) == _WORKLOADS | _ADDONS
    assert {found[each]["namespace"] for each in _WORKLOADS} == {"hifi"}


def test_every_service_account_of_the_workloads_has_a_role(side: Stack) -> None:
    folder = Path(infra.__file__).parent / "workloads"
    files = (file for part in ("base", "components") for file in (folder / part).rglob("*.yaml"))
    documents = [each for file in files for each in yaml.safe_load_all(file.read_text())]
    accounts = {each["metadata"]["name"] for each in documents if each.get("kind") == "ServiceAccount"}
    assert accounts
    assert accounts - _STRANGERS - {_DEPLOYER} == {
        each["service_account"] for each in _associations(side).values() if each["namespace"] == "hifi"
    }


def test_a_pods_role_serves_no_other_pod(side: Stack) -> None:
    cluster = one(side, "aws_eks_cluster")["name"]
    for account, association in _associations(side).items():
        (trust,) = json.loads(follow(side, association["role_arn"])["assume_role_policy"])["Statement"]
        assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
        assert trust["Condition"]["StringEquals"] == {
            "aws:RequestTag/eks-cluster-name": cluster,
            "aws:RequestTag/kubernetes-namespace": association["namespace"],
            "aws:RequestTag/kubernetes-service-account": account,
        }


def test_no_role_is_without_boundary_or_for_people(side: Stack, environment: str) -> None:
    for role in resources(side, "aws_iam_role"):
        assert role["permissions_boundary"].endswith(f":policy/hifi-{environment}-boundary")
        for trust in json.loads(role["assume_role_policy"])["Statement"]:
            assert set(trust["Principal"]) == {"Service"}
            assert trust["Principal"]["Service"].endswith(".amazonaws.com")


def test_what_is_allowed_on_everything_only_looks_and_says_why(side: Stack) -> None:
    found = 0
    for policy in resources(side, "aws_iam_role_policy"):
        for each in statements(policy):
            if "*" in each["Resource"]:
                found += 1
                assert policy["//"]["reasons"][each["Sid"]]
                verbs = {action.partition(":")[2] for action in each["Action"]}
                assert all(verb.startswith(("BatchGet", "Describe", "Get", "List")) for verb in verbs)
    # Autoscaler, load balancer controller, runner; Spark and observe for several secrets at once.
    assert found == 5


def test_no_action_is_a_wildcard(side: Stack) -> None:
    for policy in resources(side, "aws_iam_role_policy"):
        for each in statements(policy):
            assert not any("*" in action for action in each["Action"])


@pytest.mark.parametrize(
    ("account", "topics"),
    [
        ("collect", {Topic.COLLECTED, Topic.HEARTBEATS, Topic.KEY_USAGE}),
        ("retry", {Topic.RETRY_OUT, Topic.QUARANTINE}),
        ("audit", {Topic.LEDGER, Topic.TRACES}),
        ("observe", set()),
        ("canary", {Topic.CONFIG}),
        ("trace", set()),
        ("keda-operator", set()),
        ("provision", {Topic.CONFIG}),
        ("topics", set()),
        ("readability", set()),
    ],
)
def test_who_writes_which_topic(side: Stack, account: str, topics: set[str]) -> None:
    assert _topics(side, account, "WriteData") == topics


def test_spark_writes_what_its_nodes_write_and_neither_config_nor_what_collect_takes(side: Stack) -> None:
    assert set(Topic) - _topics(side, "spark", "WriteData") == {
        Topic.CONFIG,
        Topic.COLLECTED,
        Topic.KEY_USAGE,
        Topic.RETRY_OUT,
        Topic.REPLAYED,
        Topic.LEDGER,
        Topic.TRACES,
    }


@pytest.mark.parametrize("account", ["collect", "spark", "topics", "observe", "canary", "provision"])
def test_who_follows_the_configuration(side: Stack, account: str) -> None:
    assert Topic.CONFIG in _topics(side, account, "ReadData")


def test_a_version_that_is_asked_what_it_reads_may_read_that_and_do_nothing_else(side: Stack) -> None:
    assert _topics(side, "readability", "ReadData") == {*READERS, Topic.CONFIG}
    assert {each["Sid"] for each in _allowed(side, "readability")} < {
        each["Sid"] for each in _allowed(side, "observe")
    }


def test_only_the_topics_job_makes_topics(side: Stack) -> None:
    makers = {each for each in _associations(side) if _topics(side, each, "CreateTopic")}
    assert makers == {"topics"}
    assert _topics(side, "topics", "CreateTopic") == set(Topic)


def test_nobody_deletes_a_topic(side: Stack) -> None:
    assert not any(_topics(side, each, "DeleteTopic") for each in _associations(side))


def test_kafka_rights_end_at_the_sides_own_cluster(side: Stack) -> None:
    checked = 0
    for account in _associations(side):
        for each in _allowed(side, account):
            if any(action.startswith("kafka-cluster:") for action in each["Action"]):
                checked += 1
                for arn in each["Resource"]:
                    assert kafka_resource(side, arn) or follow(side, arn) is one(side, "aws_msk_cluster")
    assert checked > len(_WORKLOADS)


def test_a_sides_spark_reaches_its_own_checkpoints_only(synthesised: Synthesised) -> None:
    for name in ("blue", "green"):
        allowed = {each["Sid"]: each for each in _allowed(synthesised("production")[name], "spark")}
        bucket = "arn:aws:s3:::hifi-production-checkpoints-222222222222"
        assert allowed["CheckpointFiles"]["Resource"] == [f"{bucket}/{name}/*"]
        assert allowed["CheckpointList"]["Resource"] == [bucket]
        assert allowed["CheckpointList"]["Condition"] == {"StringLike": {"s3:prefix": [name, f"{name}/*"]}}


def test_observe_keeps_scorecards_in_its_own_sides_table_and_notifies_its_own_topic(
    synthesised: Synthesised,
) -> None:
    foundation = synthesised("production")["foundation"]
    tables = {each["name"]: each for each in resources(foundation, "aws_dynamodb_table")}
    for name in ("blue", "green"):
        stack = synthesised("production")[name]
        allowed = {each["Sid"]: each for each in _allowed(stack, "observe")}
        (table,) = allowed["Scorecards"]["Resource"]
        assert tables[table.rpartition("/")[2]]["ttl"] == {"attribute_name": EXPIRES, "enabled": True}
        assert table.endswith(f"-{name}")
        (topic,) = allowed["Alarms"]["Resource"]
        assert topic.rpartition(":")[2] == one(stack, "aws_sns_topic")["name"]
        keys = {each["Sid"] for each in _allowed(stack, "audit")}
        assert "Scorecards" not in keys


def test_the_provisioner_reads_foundations_documents_and_alone_writes_in_transactions(
    synthesised: Synthesised,
) -> None:
    foundation = synthesised("production")["foundation"]
    tables = {each["name"] for each in resources(foundation, "aws_dynamodb_table")}
    for name in ("blue", "green"):
        stack = synthesised("production")[name]
        allowed = {each["Sid"]: each for each in _allowed(stack, "provision")}
        (table,) = allowed["Documents"]["Resource"]
        assert table.rpartition("/")[2] in tables
        steps = allowed["Steps"]
        assert (steps["Action"], steps["Resource"]) == (["dynamodb:ConditionCheckItem"], [table])
        (transaction,) = allowed["KafkaTransact"]["Resource"]
        assert kafka_resource(stack, transaction) == ("transactional-id", "hifi-*-provision")
        others = set(_associations(stack)) - {"provision"}
        assert not any("KafkaTransact" in {s["Sid"] for s in _allowed(stack, each)} for each in others)


def test_no_other_pod_reaches_a_bucket(side: Stack) -> None:
    readers = {
        account
        for account in _associations(side)
        if any(action.startswith("s3:") for each in _allowed(side, account) for action in each["Action"])
    }
    assert readers == {"spark", "audit"}


def test_the_autoscaler_scales_its_own_cluster_only(side: Stack) -> None:
    (scale,) = [each for each in _allowed(side, "cluster-autoscaler") if each["Sid"] == "Scale"]
    cluster = one(side, "aws_eks_cluster")["name"]
    assert scale["Condition"] == {
        "StringEquals": {f"aws:ResourceTag/k8s.io/cluster-autoscaler/{cluster}": "owned"}
    }


def test_the_load_balancer_controller_only_fills_the_sides_target_groups(side: Stack) -> None:
    changes = [
        each
        for each in _allowed(side, "aws-load-balancer-controller")
        if not all(":Describe" in action for action in each["Action"])
    ]
    (register,) = changes
    filled = [follow(side, each)["name"] for each in register["Resource"]]
    assert sorted(filled) == sorted(each["name"] for each in resources(side, "aws_lb_target_group"))


def test_nodes_pull_images_and_no_more(side: Stack) -> None:
    (role,) = [
        each for each in resources(side, "aws_iam_role") if "ec2.amazonaws.com" in each["assume_role_policy"]
    ]
    attached = {
        each["policy_arn"].rpartition("/")[2]
        for each in resources(side, "aws_iam_role_policy_attachment")
        if follow(side, each["role"]) is role
    }
    assert attached == {"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"}
    own = [each for each in resources(side, "aws_iam_role_policy") if follow(side, each["role"]) is role]
    assert not own


def test_the_log_shipper_writes_to_the_pods_group_and_does_nothing_else(side: Stack) -> None:
    (allowed,) = _allowed(side, "fluent-bit")
    assert set(allowed["Action"]) == {"logs:CreateLogStream", "logs:PutLogEvents"}
    groups = [each["name"] for each in resources(side, "aws_cloudwatch_log_group")]
    (group,) = [name for name in groups if name.endswith("/pods")]
    assert [arn.partition(":log-group:")[2] for arn in allowed["Resource"]] == [f"{group}:*"]


def test_alertmanager_notifies_the_sides_own_topic_and_does_nothing_else(side: Stack) -> None:
    allowed = {each["Sid"]: each for each in _allowed(side, "alertmanager")}
    assert set(allowed) == {"Alarms", "AlarmsKey"}
    (topic,) = allowed["Alarms"]["Resource"]
    assert topic.rpartition(":")[2] == one(side, "aws_sns_topic")["name"]
    assert allowed["Alarms"]["Action"] == ["sns:Publish"]
