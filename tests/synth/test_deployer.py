"""The deployer in AWS: its role, its rights on both sides, and the network between them."""

import json
from typing import Any

import pytest

from shared.contracts.topics import Topic
from tests.synth.conftest import ENVIRONMENTS, Synthesised, settings
from tests.synth.terraform import Stack, one, resources
from tests.synth.twin.references import statements

ACCOUNT = "222222222222"
PREFIX = "hifi-production"
SIDES = ("blue", "green")


@pytest.fixture
def foundation(synthesised: Synthesised) -> Stack:
    return synthesised("production")["foundation"]


@pytest.fixture(params=ENVIRONMENTS)
def edge(request: pytest.FixtureRequest, synthesised: Synthesised) -> Stack:
    return synthesised(request.param)["edge"]


def arn(service: str, resource: str) -> str:
    return f"arn:aws:{service}:eu-west-1:{ACCOUNT}:{resource}"


def granted(foundation: Stack) -> dict[str, dict[str, Any]]:
    """The role's statements by their names."""
    return {each["Sid"]: each for each in statements(one(foundation, "aws_iam_role_policy"))}


def of_both(kind: str, service: str, rest: str = "") -> list[str]:
    return [arn(service, f"{kind}/{PREFIX}-{side}{rest}") for side in SIDES]


def test_the_role_is_of_the_deployers_pods_in_either_cluster_and_of_no_others(foundation: Stack) -> None:
    (trust,) = statements_of_trust(foundation)
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Condition"] == {
        "StringEquals": {
            "aws:RequestTag/eks-cluster-name": [f"{PREFIX}-blue", f"{PREFIX}-green"],
            "aws:RequestTag/kubernetes-namespace": "hifi",
            "aws:RequestTag/kubernetes-service-account": "deploy",
        }
    }


def statements_of_trust(foundation: Stack) -> list[dict[str, Any]]:
    role = one(foundation, "aws_iam_role", name=f"{PREFIX}-deployer")
    found: list[dict[str, Any]] = json.loads(role["assume_role_policy"])["Statement"]
    return found


def test_it_may_do_what_the_backend_calls_on_named_resources_and_no_more(foundation: Stack) -> None:
    found = {name: (each["Action"], each["Resource"]) for name, each in granted(foundation).items()}
    kafka = {name: found.pop(name) for name in list(found) if name.startswith("Kafka")}
    zone, (data, images) = found["Records"][1], (key(foundation, each) for each in ("data", "images"))
    bucket = {each: f"arn:aws:s3:::{PREFIX}-{each}-{ACCOUNT}" for each in ("versions", "checkpoints")}
    table = [arn("dynamodb", f"table/{PREFIX}-documents")]
    items = [f"dynamodb:{each}" for each in ("ConditionCheckItem", "DeleteItem", "GetItem", "PutItem")]
    assert found == {
        "Weights": (["ssm:GetParameter", "ssm:PutParameter"], [arn("ssm", f"parameter/{PREFIX}/weights")]),
        "ClosedSides": (["ssm:GetParameter"], [arn("ssm", f"parameter/{PREFIX}/closed-sides")]),
        "Records": (["route53:ListResourceRecordSets"], zone),
        "MoveTraffic": (["route53:ChangeResourceRecordSets"], zone),
        "InForce": (["route53:GetChange"], ["arn:aws:route53:::change/*"]),
        "List": (["s3:ListBucket"], [bucket["versions"], bucket["checkpoints"]]),
        "Versions": (["s3:GetObject"], [f"{bucket['versions']}/*"]),
        "Checkpoints": (
            ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
            [f"{bucket['checkpoints']}/{side}/*" for side in SIDES],
        ),
        "Releases": ([*items, "dynamodb:Query"], table),
        "Lease": ([*items, "dynamodb:Query"], table),
        "Data": (["kms:Decrypt", "kms:GenerateDataKey"], [data]),
        "VersionsKey": (["kms:Decrypt"], [images]),
        "Kubernetes": (["eks:DescribeCluster", "eks:ListNodegroups"], of_both("cluster", "eks")),
        "Nodes": (["eks:DescribeNodegroup"], of_both("nodegroup", "eks", "/*/*")),
        "Brokers": (["kafka:DescribeClusterV2"], of_both("cluster", "kafka", "/*")),
    }
    verbs = {action.partition(":")[2] for actions, _ in kafka.values() for action in actions}
    assert verbs == {"Connect", "DescribeCluster", "DescribeTopic", "ReadData", "AlterGroup", "DescribeGroup"}
    assert not any("*" in action for each in granted(foundation).values() for action in each["Action"])
    assert not any("*" in each["Resource"] for each in granted(foundation).values())


def key(foundation: Stack, purpose: str) -> str:
    """A key's ARN as a reference."""
    alias = one(foundation, "aws_kms_alias", name=f"alias/{PREFIX}-{purpose}")
    return str(alias["target_key_id"]).replace(".key_id}", ".arn}")


def test_it_changes_the_weighted_records_and_no_other(foundation: Stack) -> None:
    domain = "hifi.example.com"
    assert granted(foundation)["MoveTraffic"]["Condition"] == {
        "ForAllValues:StringEquals": {
            "route53:ChangeResourceRecordSetsActions": ["UPSERT"],
            "route53:ChangeResourceRecordSetsNormalizedRecordNames": [
                f"{host}.{domain}" for host in ("events", "api", "console")
            ],
            "route53:ChangeResourceRecordSetsRecordTypes": ["A", "CNAME"],
        }
    }
    (zone,) = granted(foundation)["MoveTraffic"]["Resource"]
    assert zone.startswith("${aws_route53_zone.")


def partitions(statement: dict[str, Any]) -> list[str]:
    found: list[str] = statement["Condition"]["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"]
    return found


def test_of_the_table_it_has_releases_registers_leases_and_github_the_first_two(
    foundation: Stack,
) -> None:
    ours = ["releases#", "activities#blue", "activities#green"]
    assert partitions(granted(foundation)["Releases"]) == ours
    assert partitions(granted(foundation)["Lease"]) == ["leases#"]
    policy = one(foundation, "aws_iam_policy", name=f"{PREFIX}-deploy-release")
    (asks,) = [each for each in statements(policy) if each["Sid"] == "AskTheDeployer"]
    assert partitions(asks) == ours


def test_github_sees_whether_a_deployer_leads_and_takes_no_lease(foundation: Stack) -> None:
    policy = one(foundation, "aws_iam_policy", name=f"{PREFIX}-deploy-release")
    (sees,) = [each for each in statements(policy) if each["Sid"] == "SeeTheDeployer"]
    assert (partitions(sees), sees["Action"]) == (["leases#"], ["dynamodb:GetItem"])


def test_it_reads_what_its_groups_read_and_dead_letters_and_writes_no_topic(foundation: Stack) -> None:
    read = {each.rpartition("/")[2] for each in granted(foundation)["KafkaRead"]["Resource"]}
    assert set(Topic) - read == {Topic.CONFIG, Topic.HEARTBEATS, Topic.KEY_USAGE, Topic.LEDGER}
    assert "KafkaWrite" not in granted(foundation)
    for name, each in granted(foundation).items():
        if name.startswith("Kafka"):
            assert {resource.split("/")[1] for resource in each["Resource"]} == {
                f"{PREFIX}-{side}" for side in SIDES
            }


def test_its_policy_fits_into_a_role(foundation: Stack) -> None:
    policy = one(foundation, "aws_iam_role_policy")["policy"]
    assert len("".join(policy.split())) <= 10_240


def test_what_a_version_consists_of_is_kept_with_the_key_of_images(foundation: Stack) -> None:
    bucket = one(foundation, "aws_s3_bucket", bucket=f"{PREFIX}-versions-{ACCOUNT}")
    rules = [
        each["rule"][0]["apply_server_side_encryption_by_default"]["kms_master_key_id"]
        for each in resources(foundation, "aws_s3_bucket_server_side_encryption_configuration")
        if bucket["//"]["metadata"]["uniqueId"] in each["bucket"]
    ]
    assert rules == [key(foundation, "images")]


@pytest.mark.parametrize("name", SIDES)
def test_each_side_admits_it_by_a_group_of_kubernetes_and_no_policy_of_eks(
    synthesised: Synthesised, name: str
) -> None:
    side, role = synthesised("production")[name], f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-deployer"
    entry = one(side, "aws_eks_access_entry", principal_arn=role)
    assert entry["kubernetes_groups"] == ["hifi:deployer"]
    policies = resources(side, "aws_eks_access_policy_association")
    assert not any(role in each["principal_arn"] for each in policies)
    association = one(side, "aws_eks_pod_identity_association", service_account="deploy")
    assert (association["role_arn"], association["namespace"]) == (role, "hifi")


def test_github_hands_the_role_to_pods_and_changes_nothing_of_it(foundation: Stack) -> None:
    role = f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-deployer"
    policies = [
        each for each in resources(foundation, "aws_iam_policy") if "-production-deploy-" in each["name"]
    ]
    naming = [each for policy in policies for each in statements(policy) if role in each["Resource"]]
    assert [(each["Action"], each["Condition"]) for each in naming] == [
        (["iam:PassRole"], {"StringEquals": {"iam:PassedToService": "pods.eks.amazonaws.com"}})
    ]


def test_the_sides_networks_are_joined_and_each_private_subnet_leads_to_the_other_side(edge: Stack) -> None:
    connection = one(edge, "aws_vpc_peering_connection")
    assert connection["auto_accept"] is True
    ends = {named(edge, connection[each]) for each in ("vpc_id", "peer_vpc_id")}
    assert {end.rpartition("-")[2] for end in ends} == set(SIDES)
    environment = settings(edge_environment(edge))
    led = {
        named(edge, each["route_table_id"]): each["destination_cidr_block"]
        for each in resources(edge, "aws_route")
    }
    assert led == {
        f"{environment.names.prefix}-{side}-private-{zone}": str(environment.cidrs[other])
        for side, other in zip(environment.cidrs, reversed(environment.cidrs), strict=True)
        for zone in "abc"
    }


def test_a_side_admits_of_the_other_its_nodes_to_the_api_and_the_brokers_alone(edge: Stack) -> None:
    prefix = settings(edge_environment(edge)).names.prefix
    found = {
        (named(edge, each["security_group_id"]), named(edge, each["referenced_security_group_id"])): (
            each["ip_protocol"],
            each["from_port"],
            each["to_port"],
        )
        for each in resources(edge, "aws_vpc_security_group_ingress_rule")
    }
    assert found == {
        (f"{prefix}-{side}{group}", f"{prefix}-{other}-nodes"): ("tcp", port, port)
        for side, other in (SIDES, reversed(SIDES))
        for group, port in (("", 443), ("-brokers", 9098))
    }
    assert not resources(edge, "aws_vpc_security_group_egress_rule")


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_edge_looks_up_networks_that_the_sides_declare(synthesised: Synthesised, name: str) -> None:
    stacks = synthesised(name)
    for kind in ("aws_vpc", "aws_route_table"):
        made = {each["tags"]["Name"] for side in SIDES for each in resources(stacks[side], kind)}
        assert {each["tags"]["Name"] for each in stacks["edge"]["data"][kind].values()} <= made
    groups = {each["name"] for side in SIDES for each in resources(stacks[side], "aws_security_group")}
    assert {each["name"] for each in stacks["edge"]["data"]["aws_security_group"].values()} <= groups


def named(stack: Stack, reference: str) -> str:
    """The name by which a text such as `${data.aws_vpc.x.id}` was looked up."""
    _, kind, name = reference.removeprefix("${").split(".")[:3]
    found = stack["data"][kind][name]
    return str(found.get("name") or found["tags"]["Name"])


def edge_environment(edge: Stack) -> str:
    (provider,) = edge["provider"]["aws"]
    return str(provider["default_tags"][0]["tags"]["environment"])
