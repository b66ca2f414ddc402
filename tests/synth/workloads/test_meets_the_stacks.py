"""The stacks declare everything that the manifests and the workflows rely on."""

from typing import Final

from infra.config import EnvironmentName, RunSettings, load_environment
from infra.naming import Side
from infra.workloads.outputs import outputs
from infra.workloads.values import release_values, side_values
from pipelines.data.collect.settings import CollectSettings
from pipelines.management.api.settings import ApiSettings
from pipelines.management.console.settings import ConsoleSettings
from tests.synth.conftest import Synthesised
from tests.synth.terraform import resources
from tests.synth.workloads.manifests import WITH_PODS, Manifest, container, named, of_kind, pod

STRANGERS = {"console"}
"""Service accounts that do not use AWS."""

OPTIONAL = {"trace"}
"""Service accounts with pods only where an overlay includes their component."""

DRAIN_SECONDS: Final = {
    node: settings.model_fields["drain_timeout"].default
    for node, settings in (("collect", CollectSettings), ("api", ApiSettings), ("console", ConsoleSettings))
}
"""Seconds for requests in flight once a process stops, for each process behind a load balancer."""

PRODUCTION = load_environment(RunSettings(environment=EnvironmentName.PRODUCTION))


def test_roles_and_registry_are_foundations(synthesised: Synthesised) -> None:
    foundation = synthesised("production")["foundation"]
    found = outputs(PRODUCTION)
    roles = {each["name"] for each in resources(foundation, "aws_iam_role")}
    assert {found[role].rpartition("/")[2] for role in ("plan_role", "deploy_role")} <= roles
    repositories = {each["name"] for each in resources(foundation, "aws_ecr_repository")}
    _, _, registry = found["registry"].partition("/")
    assert repositories == {f"{registry}/service", f"{registry}/spark"}


def test_checkpoints_go_to_foundations_bucket(synthesised: Synthesised) -> None:
    foundation = synthesised("production")["foundation"]
    folder = side_values(PRODUCTION, Side.BLUE, bootstrap="b:9098", zone_ids="a=euw1-az1")["HIFI_CHECKPOINTS"]
    buckets = {each["bucket"] for each in resources(foundation, "aws_s3_bucket")}
    assert folder.removeprefix("s3a://").partition("/")[0] in buckets


def test_the_load_balancer_sends_to_collects_port(synthesised: Synthesised, blue: list[Manifest]) -> None:
    groups = resources(synthesised("production")["blue"], "aws_lb_target_group")
    images = {"service_image": "r/service:1", "spark_image": "r/spark:1"}
    wanted = release_values(PRODUCTION, Side.BLUE, **images)["TARGET_GROUP"]
    (group,) = [each for each in groups if each["name"] == wanted]
    only = container(named(blue, "Deployment", "collect"))
    assert (group["port"], group["target_type"]) == (only["ports"][0]["containerPort"], "ip")
    assert group["health_check"]["path"] == only["readinessProbe"]["httpGet"]["path"]


def test_no_load_balancer_cuts_a_connection_before_its_pod_had_time_to_answer(
    synthesised: Synthesised, blue: list[Manifest]
) -> None:
    """It would cut requests that are processed anyway: their clients send them a second time."""
    groups = {
        each["name"].rpartition("-")[2]: each
        for each in resources(synthesised("production")["blue"], "aws_lb_target_group")
    }
    assert groups.keys() == DRAIN_SECONDS.keys()
    for node, group in groups.items():
        hooks = container(named(blue, "Deployment", node)).get("lifecycle", {})
        pause = hooks["preStop"]["sleep"]["seconds"] if hooks else 0
        assert int(group["deregistration_delay"]) > pause + DRAIN_SECONDS[node], node


def test_who_runs_with_a_service_account_is_who_aws_knows(
    synthesised: Synthesised, blue: list[Manifest], cluster: list[Manifest]
) -> None:
    known = {
        each["service_account"]
        for each in resources(synthesised("production")["blue"], "aws_eks_pod_identity_association")
        if each["namespace"] == "hifi"
    }
    assert {
        pod(each)["serviceAccountName"] for each in of_kind([*blue, *cluster], *WITH_PODS)
    } == known - OPTIONAL | STRANGERS


def test_pods_are_sent_to_pools_that_are_there(synthesised: Synthesised, blue: list[Manifest]) -> None:
    groups = resources(synthesised("production")["blue"], "aws_eks_node_group")
    taints = {
        each["labels"]["hifi/pool"]: {(one["key"], one["value"]) for one in each.get("taint", [])}
        for each in groups
    }
    for workload in of_kind(blue, *WITH_PODS):
        tolerated = {
            (one["key"], one["value"]) for one in pod(workload).get("tolerations", []) if "value" in one
        }
        assert taints[pod(workload)["nodeSelector"]["hifi/pool"]] == tolerated
