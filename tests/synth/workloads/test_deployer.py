"""A cluster before its first version: the deployer, its rights, and the addresses that it reaches."""

from collections.abc import Callable
from ipaddress import ip_network
from typing import Any

import pytest

from infra.components.identity.workload_identities import NAMESPACE
from infra.config import EnvironmentName, InvalidSettingsError, RunSettings, load_environment
from infra.naming import Side
from infra.workloads import cluster_values
from infra.workloads.cluster_values import CLUSTER, SideKafka, deploy_values
from pipelines.control.backends.aws.backend import aws_backend
from pipelines.control.backends.aws.settings import AwsSettings
from pipelines.control.backends.aws.side_record import NAMESPACE as APPLIED_TO
from pipelines.control.backends.aws.workloads import KEPT, OURS
from pipelines.control.deploy.settings import DeploySettings
from tests.synth.conftest import Synthesised
from tests.synth.terraform import resources
from tests.synth.workloads import test_pods
from tests.synth.workloads.manifests import (
    Manifest,
    command,
    container,
    environment,
    named,
    of_kind,
    pod,
    pod_labels,
    selects,
)
from tests.synth.workloads.test_network import PRIVATE

PRODUCTION = load_environment(RunSettings(environment=EnvironmentName.PRODUCTION))
ZONE = "Z0000000000000000000"
KAFKA = {side: SideKafka(arn=f"arn:{side}", bootstrap=f"b-1.{side}:9098") for side in Side}
PLURALS = {
    "ConfigMap": ("", "configmaps"),
    "CronJob": ("batch", "cronjobs"),
    "Deployment": ("apps", "deployments"),
    "Job": ("batch", "jobs"),
    "NetworkPolicy": ("networking.k8s.io", "networkpolicies"),
    "PodDisruptionBudget": ("policy", "poddisruptionbudgets"),
    "PodMonitor": ("monitoring.coreos.com", "podmonitors"),
    "PrometheusRule": ("monitoring.coreos.com", "prometheusrules"),
    "ScaledObject": ("keda.sh", "scaledobjects"),
    "Service": ("", "services"),
    "ServiceAccount": ("", "serviceaccounts"),
    "StatefulSet": ("apps", "statefulsets"),
    "TargetGroupBinding": ("elbv2.k8s.aws", "targetgroupbindings"),
    "TriggerAuthentication": ("keda.sh", "triggerauthentications"),
}
"""Names of a version's kinds in rights."""


@pytest.fixture
def rights(cluster: list[Manifest]) -> dict[tuple[str, str], set[str]]:
    """The deployer's rights by group and resource."""
    return {
        (group, resource): set(rule["verbs"])
        for rule in named(cluster, "Role", "deployer")["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_whatever_a_version_consists_of_may_be_applied_and_removed_and_nothing_else(
    manifests: list[Manifest], rights: dict[tuple[str, str], set[str]]
) -> None:
    kinds = {each["kind"] for each in manifests}
    for kind in kinds:
        kept = {"delete"} if kind == "ConfigMap" else set()
        assert {"create", "patch", "delete"} - kept <= rights[PLURALS[kind]], kind
    asked = {("", "pods"): {"list"}, ("", "pods/proxy"): {"get", "update"}}
    assert rights.keys() == {PLURALS[kind] for kind in kinds} | asked.keys()
    assert {each: rights[each] for each in asked} == asked


def test_its_rights_end_at_its_namespace_and_reach_no_secret_and_no_rights(
    cluster: list[Manifest], rights: dict[tuple[str, str], set[str]]
) -> None:
    assert not of_kind(cluster, "ClusterRole", "ClusterRoleBinding")
    assert {each["metadata"]["namespace"] for each in of_kind(cluster, "Role", "RoleBinding")} == {NAMESPACE}
    assert NAMESPACE == APPLIED_TO
    named_so = {part for key in rights for part in key}.union(*rights.values())
    assert not named_so & {"*", "secrets", "roles", "rolebindings", "pods/exec", "escalate", "bind"}


def test_the_rights_are_of_the_group_of_the_access_entries(
    cluster: list[Manifest], synthesised: Synthesised
) -> None:
    binding = named(cluster, "RoleBinding", "deployer")
    assert binding["roleRef"]["name"] == "deployer"
    groups = {(each["kind"], each["name"]) for each in binding["subjects"]}
    for side in Side:
        entries = resources(synthesised("production")[side], "aws_eks_access_entry")
        found = [name for each in entries for name in each.get("kubernetes_groups", [])]
        assert {("Group", name) for name in found} == groups


def test_a_version_has_nothing_outside_of_the_namespace(manifests: list[Manifest]) -> None:
    assert {each["kind"] for each in manifests} == PLURALS.keys()


def test_the_deployer_runs_whatever_version_does_and_on_a_parked_side(
    cluster: list[Manifest], manifests: list[Manifest]
) -> None:
    deployer = named(cluster, "Deployment", "deploy")
    assert command(deployer) == ["-m", "pipelines.control.deploy"]
    assert deployer["spec"]["replicas"] == 1
    name, _, value = OURS.partition("=")
    assert pod_labels(deployer)[name] == value  # Prometheus calls all that have it
    assert pod_labels(deployer)["app.kubernetes.io/name"] in KEPT
    assert not [each for each in manifests if each["metadata"]["name"] == "deploy"]


@pytest.mark.parametrize(
    "holds",
    [
        test_pods.test_nothing_runs_as_root_or_writes_to_its_image,
        test_pods.test_nobody_has_a_token_for_the_kubernetes_api,
        test_pods.test_resources_are_asked_for_and_memory_is_bounded,
        test_pods.test_selectors_take_their_own_pods_and_no_others,
        test_pods.test_only_who_tolerates_a_pools_taint_is_sent_there,
    ],
)
def test_its_pod_is_as_safe_as_any_other(
    cluster: list[Manifest], holds: Callable[[list[Manifest]], None]
) -> None:
    holds(cluster)


def settings(monkeypatch: pytest.MonkeyPatch, values: dict[str, str]) -> tuple[DeploySettings, AwsSettings]:
    """Settings as a pod's process reads them."""
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return DeploySettings(), AwsSettings()  # type: ignore[call-arg]


def test_it_has_the_settings_of_its_environment(
    monkeypatch: pytest.MonkeyPatch, cluster: list[Manifest], synthesised: Synthesised
) -> None:
    values = deploy_values(PRODUCTION, zone=ZONE, kafka=KAFKA)
    deploy, aws = settings(monkeypatch, values | plain(cluster))
    assert deploy.backend is aws_backend
    assert (deploy.host, deploy.port) == ("0.0.0.0", 8080)
    assert (aws.bootstrap("green"), aws.kafka("blue")) == ("iam://b-1.green:9098", "arn:blue")
    assert (aws.cluster("blue"), aws.aws_zone) == ("hifi-production-blue", ZONE)
    foundation, edge = (synthesised("production")[each] for each in ("foundation", "edge"))
    buckets = {each["bucket"] for each in resources(foundation, "aws_s3_bucket")}
    assert {aws.aws_versions, aws.aws_checkpoints} <= buckets
    parameters = {each["name"] for each in resources(foundation, "aws_ssm_parameter")}
    assert parameters == {aws.aws_weights_parameter, aws.aws_closed_parameter}
    hosts = {each["name"] for each in resources(edge, "aws_route53_record") if "set_identifier" in each}
    assert hosts == {aws.aws_events_host, *aws.aws_management_hosts.split(",")}
    tables = {each["name"] for each in resources(foundation, "aws_dynamodb_table")}
    assert deploy.documents_table == aws.documents_table
    assert deploy.documents_table in tables


def plain(cluster: list[Manifest]) -> dict[str, str]:
    """The settings in the manifest itself."""
    values = environment(named(cluster, "Deployment", "deploy"))
    return {name: value for name, value in values.items() if name.startswith("HIFI_")}


def test_its_pod_reads_the_file_of_values(cluster: list[Manifest]) -> None:
    (source,) = container(named(cluster, "Deployment", "deploy"))["envFrom"]
    values = named(cluster, "ConfigMap", source["configMapRef"]["name"])["data"]
    assert values["HIFI_BACKEND"].endswith(":aws_backend")
    assert pod(named(cluster, "Deployment", "deploy"))["serviceAccountName"] == "deploy"


def test_what_is_committed_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    local, written = load_environment(RunSettings()), read(CLUSTER / "deploy.env")
    kafka = {
        side: SideKafka(
            arn=written[f"HIFI_AWS_{side.upper()}_KAFKA"],
            bootstrap=written[f"HIFI_AWS_{side.upper()}_BOOTSTRAP"].removeprefix("iam://"),
        )
        for side in Side
    }
    assert written == deploy_values(local, zone=ZONE, kafka=kafka)
    assert read(CLUSTER / "release.env") == cluster_values.manifest_values(
        local, service_image="hifi/service:dev"
    )


def read(file: Any) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


def test_a_person_sets_how_long_a_side_may_take_but_not_which_sides_there_are() -> None:
    waits = deploy_values(PRODUCTION, zone=ZONE, kafka=KAFKA, settings={"HIFI_READY_SECONDS": "60"})
    assert waits["HIFI_READY_SECONDS"] == "60"
    with pytest.raises(InvalidSettingsError, match="HIFI_AWS_ZONE: the stacks decide it"):
        deploy_values(PRODUCTION, zone=ZONE, kafka=KAFKA, settings={"HIFI_AWS_ZONE": "Z1"})


def test_it_reaches_the_apis_and_brokers_of_both_sides_and_aws_and_no_pod(cluster: list[Manifest]) -> None:
    policy = named(cluster, "NetworkPolicy", "deploy")["spec"]
    assert selects(policy["podSelector"], pod_labels(named(cluster, "Deployment", "deploy")))
    reached = {
        peer["ipBlock"]["cidr"]: sorted(port["port"] for port in rule["ports"])
        for rule in policy["egress"]
        for peer in rule["to"]
        if "ipBlock" in peer
    }
    cidrs = load_environment(RunSettings()).cidrs.values()
    agent = {"169.254.170.23/32": [80]}
    assert reached == {str(cidr): [443, 9098] for cidr in cidrs} | {"0.0.0.0/0": [443]} | agent
    wide = policy["egress"][-1]["to"][0]["ipBlock"]["except"]
    assert sorted(wide, key=ip_network) == sorted(PRIVATE, key=ip_network)
    (caller,) = policy["ingress"]
    (prometheus,) = caller["from"]
    assert prometheus["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "prometheus"}
