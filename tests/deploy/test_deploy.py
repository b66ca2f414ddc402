"""The stacks, deployed to a local AWS and removed again; each test continues where the one before ended."""

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.config import Environment, RunSettings, load_environment
from infra.preflight.__main__ import report
from infra.preflight.account import Account
from infra.workloads.outputs import outputs
from pipelines.control.backends.aws.weighted_records import Traffic, TrafficSettings
from shared.contracts.side_weights import Weights
from tests.deploy.acting import DEPLOY, PLAN
from tests.deploy.aws.eks.api import UnauthorizedError, UnreachableError
from tests.deploy.aws.permissions import FREE, action_of, allowed_patterns, may
from tests.deploy.aws.server import LocalAws
from tests.deploy.clusters import (
    eks_of,
    grow_volumes,
    kafka_of,
    node_security_groups,
    runner_groups,
    scaling_groups,
    start_a_node,
)
from tests.deploy.conftest import Synthesise
from tests.deploy.deployment import STACKS, TWINS, declared, deploy, destroy, plans, stack
from tests.deploy.reasons import BY_FINDING, UNCALLED
from tests.deploy.terraform import environment

pytestmark = pytest.mark.proof

ROLE = "arn:aws:iam::000000000000:role/{}"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def stacks(terraform_command: str, aws: LocalAws, synthesise: Synthesise) -> Iterator[Path]:
    """Every stack, deployed with blue light and green dark; the folder of their Terraform JSON."""
    assert aws.inventory() == Counter(), "the account is not empty"
    folder = synthesise()
    _prepare_account(aws)
    deploy(folder, aws)
    yield folder


@pytest.fixture(scope="module", autouse=True)
def granted(stacks: Path, aws: LocalAws) -> dict[str, set[str]]:
    """The actions that the policies of the workflows' roles allow, by access key."""
    return {key: allowed_patterns(aws.place, role) for key, role in aws.roles.items()}


@pytest.mark.parametrize("side", TWINS)
def test_a_twin_has_a_kafka_and_an_eks_cluster_of_its_own_in_three_zones(
    stacks: Path, aws: LocalAws, side: str
) -> None:
    kafka, eks = kafka_of(aws, side), eks_of(aws, side)
    brokers = kafka["Provisioned"]["BrokerNodeGroupInfo"]["ClientSubnets"]
    nodes = eks["resourcesVpcConfig"]["subnetIds"]
    assert len(aws.place.zones(brokers)) == len(aws.place.zones(nodes)) == 3
    networks = {each.vpc_id for each in aws.place.subnets([*brokers, *nodes])}
    assert networks == {eks["resourcesVpcConfig"]["vpcId"]}
    others = {eks_of(aws, other)["resourcesVpcConfig"]["vpcId"] for other in TWINS if other != side}
    assert not networks & others


@pytest.mark.parametrize("side", TWINS)
def test_brokers_keep_what_two_of_three_have_written(stacks: Path, aws: LocalAws, side: str) -> None:
    chosen = kafka_of(aws, side)["Provisioned"]["CurrentBrokerSoftwareInfo"]
    revision = aws.client("kafka").describe_configuration_revision(
        Arn=chosen["ConfigurationArn"], Revision=chosen["ConfigurationRevision"]
    )
    properties = dict(
        line.replace(" ", "").split("=", 1)
        for line in revision["ServerProperties"].decode().split()
        if "=" in line
    )
    assert properties["default.replication.factor"] == "3"
    assert properties["min.insync.replicas"] == "2"
    assert properties["unclean.leader.election.enable"] == "false"
    assert properties["auto.create.topics.enable"] == "false"


@pytest.mark.parametrize("side", TWINS)
def test_the_cluster_autoscaler_finds_every_node_group_and_can_start_one_from_zero(
    stacks: Path, aws: LocalAws, side: str
) -> None:
    cluster = eks_of(aws, side)["name"]
    for group in scaling_groups(aws, cluster):
        tags = {each["Key"]: each["Value"] for each in group["Tags"]}
        assert tags["k8s.io/cluster-autoscaler/enabled"]
        assert tags[f"k8s.io/cluster-autoscaler/{cluster}"]
        assert any(key.startswith("k8s.io/cluster-autoscaler/node-template/label/") for key in tags)


def test_a_second_plan_is_empty_though_kafka_and_nodes_have_scaled(stacks: Path, aws: LocalAws) -> None:
    for side in TWINS:
        grow_volumes(aws, side)
        start_a_node(aws, side)
    assert plans(stacks) == {name: [] for name in STACKS}


def test_a_switch_moves_the_traffic_and_leaves_nothing_to_plan(stacks: Path, aws: LocalAws) -> None:
    assert _weights(aws) == {"blue": 100, "green": 0}
    traffic = _traffic(aws)
    traffic.set_weights(Weights(blue=95, green=5))
    assert _weights(aws) == {"blue": 95, "green": 5}
    assert stack(stacks, "edge").plan() == []
    # Whoever deploys edge meanwhile must not move the traffic back.
    stack(stacks, "edge").apply()
    assert _weights(aws) == {"blue": 95, "green": 5}
    assert stack(stacks, "foundation").plan() == []


def test_people_and_programs_go_to_the_side_with_more_traffic(stacks: Path, aws: LocalAws) -> None:
    traffic = _traffic(aws)
    for weights, leading in (((40, 60), (0, 100)), ((50, 50), (100, 0))):
        traffic.set_weights(Weights(*weights))
        for host in ("api", "console"):
            assert _weights(aws, host) == dict(zip(TWINS, leading, strict=True))
    assert stack(stacks, "edge").plan() == []


def test_closing_a_dark_side_leaves_nothing_to_plan(stacks: Path, aws: LocalAws) -> None:
    traffic = _traffic(aws)
    traffic.set_weights(Weights(blue=100, green=0))
    traffic.close("green")
    assert stack(stacks, "edge").plan() == []
    traffic.open("green")
    assert stack(stacks, "edge").plan() == []


def test_cdktf_deploy_goes_on_from_what_terraform_made(stacks: Path, aws: LocalAws) -> None:
    command = ROOT / "node_modules" / ".bin" / "cdktf"
    if not command.exists() or shutil.which("node") is None:
        pytest.skip("no cdktf-cli: `make deploy-tools` installs it (needs Node.js 20 or newer with npm)")
    for name in (*TWINS, "edge"):
        assert "No changes." in _cdktf_deploy(command, stacks, name)


@pytest.mark.parametrize("side", TWINS)
def test_the_deploy_role_installs_charts_from_the_sides_runner(
    stacks: Path, aws: LocalAws, side: str
) -> None:
    cluster = f"hifi-local-{side}"
    runner = runner_groups(aws, side)
    aws.kubernetes.call_from_vpc(cluster, groups=runner, principal=ROLE.format("hifi-local-deploy"))
    aws.kubernetes.call_from_vpc(cluster, groups=runner, principal=ROLE.format("administrators"))


@pytest.mark.parametrize("side", TWINS)
def test_nobody_else_gets_into_the_kubernetes_api(stacks: Path, aws: LocalAws, side: str) -> None:
    cluster, other = f"hifi-local-{side}", next(each for each in TWINS if each != side)
    ours, theirs = runner_groups(aws, side), runner_groups(aws, other)
    deployer = ROLE.format("hifi-local-deploy")
    with pytest.raises(UnauthorizedError, match="no access entry"):
        aws.kubernetes.call_from_vpc(cluster, groups=ours, principal=ROLE.format("hifi-local-plan"))
    with pytest.raises(UnreachableError):
        aws.kubernetes.call_from_vpc(cluster, groups=theirs, principal=deployer)
    with pytest.raises(UnreachableError):
        aws.kubernetes.call_from_internet(cluster, address="203.0.113.7", principal=deployer)


@pytest.mark.parametrize("side", TWINS)
def test_a_deployer_gets_into_both_sides_kubernetes_from_the_nodes_of_either(
    stacks: Path, aws: LocalAws, side: str
) -> None:
    deployer, nodes = ROLE.format("hifi-local-deployer"), node_security_groups(aws, side)
    for cluster in TWINS:
        aws.kubernetes.call_from_vpc(f"hifi-local-{cluster}", groups=nodes, principal=deployer)


def test_the_load_balancers_are_on_the_internet(stacks: Path, aws: LocalAws) -> None:
    balancers = aws.client("elbv2").describe_load_balancers()["LoadBalancers"]
    assert sorted(each["Type"] for each in balancers) == ["application"] * 2 + ["network"] * 2
    # AWS's own choice if a request names none; the local AWS does not record it.
    assert {each.get("Scheme", "internet-facing") for each in balancers} == {"internet-facing"}


def test_destroy_leaves_nothing(stacks: Path, aws: LocalAws) -> None:
    assert aws.inventory(), "the inventory sees nothing of what is deployed"
    destroy(stacks)
    assert aws.inventory() == Counter()
    states = [json.loads(each.read_text()) for each in _state_files(stacks)]
    assert [each["resources"] for each in states] == [[]] * len(STACKS)


def test_the_deploy_role_may_do_what_terraform_calls_and_no_more(
    granted: dict[str, set[str]], aws: LocalAws
) -> None:
    called = _called(aws, DEPLOY)
    assert {"kafka:CreateCluster", "eks:DeleteCluster", "route53:ChangeResourceRecordSets"} <= called
    assert {each for each in called if not may(granted[DEPLOY], each)} == set()
    unused = _unused(granted[DEPLOY], called)
    assert unused <= set(UNCALLED)
    assert set(UNCALLED) - unused <= BY_FINDING, "called after all: no reason is needed"


def test_the_plan_role_may_do_what_a_plan_calls_and_no_more(
    granted: dict[str, set[str]], aws: LocalAws
) -> None:
    called = _called(aws, PLAN)
    assert {each for each in called if not may(granted[PLAN], each)} == set()
    assert called
    assert _unused(granted[PLAN], called) <= set(UNCALLED)


def _called(aws: LocalAws, key: str) -> set[str]:
    return {action_of(each) for each in aws.calls if each.key == key}


def _unused(patterns: set[str], called: set[str]) -> set[str]:
    return {each for each in patterns if not any(may({each}, action) for action in called - FREE)}


def _cdktf_deploy(command: Path, folder: Path, name: str) -> str:
    """Deploy one stack of a synthesis with CDKTF's command line; returns its output."""
    arguments = ["deploy", name, "--auto-approve", "--skip-synth", "--skip-provider-lock"]
    done = subprocess.run(
        [str(command), *arguments, "--output", str(folder)],
        cwd=ROOT,
        env={**environment(), "CI": "1", "DISABLE_VERSION_CHECK": "1", "CHECKPOINT_DISABLE": "1"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def _prepare_account(aws: LocalAws) -> None:
    """File the preflight's requests, and let AWS grant them: otherwise no node starts."""
    environment, account = _environment(aws), Account(aws.client)
    assert report(account, environment, file=True)
    aws.quotas.grant()
    assert report(account, environment, file=False) == []


def _environment(aws: LocalAws) -> Environment:
    return load_environment(RunSettings.model_validate({"aws_endpoint": aws.endpoint}))


def _traffic(aws: LocalAws) -> Traffic:
    route53 = aws.client("route53")
    (zone,) = route53.list_hosted_zones()["HostedZones"]
    settings = TrafficSettings.of(outputs(_environment(aws)), zone=zone["Id"])
    return Traffic(settings, aws.client("ssm"), route53)


def _weights(aws: LocalAws, host: str = "events") -> dict[str, int]:
    route53 = aws.client("route53")
    (zone,) = route53.list_hosted_zones()["HostedZones"]
    records = route53.list_resource_record_sets(HostedZoneId=zone["Id"])["ResourceRecordSets"]
    return {
        each["SetIdentifier"]: each["Weight"]
        for each in records
        if each["Name"] == f"{host}.hifi.test." and "Weight" in each
    }


def _state_files(folder: Path) -> list[Path]:
    backends = [declared(folder, name)["terraform"] for name in STACKS]
    return [Path(each["backend"]["local"]["path"]) for each in backends if isinstance(each, dict)]
