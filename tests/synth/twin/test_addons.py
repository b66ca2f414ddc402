import json
import re
from typing import Any

import pytest

from ..conftest import Synthesised
from .references import Resource, Stack, one, resources

_NAMES = {"keda", "cluster-autoscaler", "metrics-server", "aws-load-balancer-controller"}
_MONITORING = {"aws-for-fluent-bit", "kube-prometheus-stack"}
"""test_monitoring.py tests them: one has a pod on each node, the other one has a volume."""


@pytest.fixture(params=["staging", "production"])
def remote(request: pytest.FixtureRequest, synthesised: Synthesised) -> Stack:
    """A side with a Kubernetes API."""
    return synthesised(request.param)["blue"]


def _releases(stack: Stack) -> dict[str, Resource]:
    return {each["name"]: each for each in resources(stack, "helm_release")}


def _values(stack: Stack, name: str) -> dict[str, Any]:
    (text,) = _releases(stack)[name]["values"]
    found: dict[str, Any] = json.loads(text)
    return found


def _parts(stack: Stack, name: str) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Replicas, resources and disruption budget of each deployment of a chart."""
    values = _values(stack, name)
    if name == "keda":
        of_chart = {"operator": "operator", "metricsServer": "metricServer", "webhooks": "webhooks"}
        return [
            (values[part]["replicaCount"], values["resources"][key], values["podDisruptionBudget"][key])
            for part, key in of_chart.items()
        ]
    replicas = values["replicas" if name == "metrics-server" else "replicaCount"]
    return [(replicas, values["resources"], values["podDisruptionBudget"])]


def test_local_has_no_kubernetes_to_install_into(synthesised: Synthesised) -> None:
    local = synthesised("local")["blue"]
    assert not resources(local, "helm_release")
    assert "helm" not in local["provider"]


def test_the_addons_in_fixed_versions(remote: Stack) -> None:
    found = _releases(remote)
    assert set(found) == _NAMES | _MONITORING
    for each in found.values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", each["version"])
        assert each["repository"].startswith("https://")


@pytest.mark.parametrize("name", sorted(_NAMES))
def test_an_addon_survives_the_loss_of_a_node(remote: Stack, name: str) -> None:
    for replicas, _, budget in _parts(remote, name):
        assert replicas >= 2
        assert budget["maxUnavailable"] == 1


@pytest.mark.parametrize("name", sorted(_NAMES))
def test_an_addon_asks_for_what_it_needs(remote: Stack, name: str) -> None:
    for _, asked, _ in _parts(remote, name):
        assert set(asked["requests"]) == {"cpu", "memory"}
        assert asked["limits"]["memory"] == asked["requests"]["memory"]


@pytest.mark.parametrize("name", sorted(_NAMES))
def test_an_addon_runs_where_nodes_always_are(remote: Stack, name: str) -> None:
    pool = _values(remote, name)["nodeSelector"]["hifi/pool"]
    groups = [each for each in resources(remote, "aws_eks_node_group") if each["labels"]["hifi/pool"] == pool]
    assert len(groups) == 3
    assert sum(group["scaling_config"]["min_size"] for group in groups) >= 2
    assert {group["capacity_type"] for group in groups} == {"ON_DEMAND"}
    assert not any("taint" in group for group in groups)


def test_the_addons_service_accounts_are_those_with_roles(remote: Stack) -> None:
    used = {
        ("kube-system", _values(remote, "cluster-autoscaler")["rbac"]["serviceAccount"]["name"]),
        ("kube-system", _values(remote, "aws-load-balancer-controller")["serviceAccount"]["name"]),
        ("keda", _values(remote, "keda")["serviceAccount"]["operator"]["name"]),
    }
    with_role = {
        (each["namespace"], each["service_account"])
        for each in resources(remote, "aws_eks_pod_identity_association")
    }
    assert used == {each for each in with_role if each[0] not in ("hifi", "monitoring")}
    found = _releases(remote)
    assert {found[each]["namespace"] for each in _NAMES - {"keda"}} == {"kube-system"}
    assert found["keda"]["namespace"] == "keda"


def test_the_autoscaler_is_of_the_clusters_version(remote: Stack) -> None:
    version = one(remote, "aws_eks_cluster")["version"]
    values = _values(remote, "cluster-autoscaler")
    assert values["image"]["tag"].startswith(f"v{version}.")
    assert values["autoDiscovery"]["clusterName"] == one(remote, "aws_eks_cluster")["name"]


def test_addons_come_after_rights_nodes_and_dns(remote: Stack) -> None:
    needed = {
        f"{kind}.{key}"
        for kind in ("aws_eks_access_policy_association", "aws_eks_pod_identity_association")
        for key in remote["resource"][kind]
    } | {
        f"aws_eks_addon.{key}"
        for key, each in remote["resource"]["aws_eks_addon"].items()
        if each["addon_name"] == "coredns"
    }
    for release in _releases(remote).values():
        assert needed <= set(release["depends_on"])


def test_a_failed_release_is_taken_back(remote: Stack) -> None:
    assert all(each["atomic"] for each in _releases(remote).values())


def test_no_token_of_kubernetes_is_kept(remote: Stack) -> None:
    (provider,) = remote["provider"]["helm"]
    connection = provider["kubernetes"]
    assert not {"token", "password", "client_key"} & set(connection)
    assert connection["exec"]["args"][:2] == ["eks", "get-token"]
    assert connection["host"].endswith(".endpoint}")


def test_spot_is_extended_first_and_then_the_spare_group(remote: Stack) -> None:
    values = _values(remote, "cluster-autoscaler")
    assert values["extraArgs"]["expander"].split(",")[0] == "priority"
    patterns = {int(number): found for number, found in values["expanderPriorities"].items()}
    # EKS names the Auto Scaling group after the node group.
    names = [each["node_group_name_prefix"] for each in resources(remote, "aws_eks_node_group")]
    ranked = {name: _priority(patterns, f"eks-{name}1-2") for name in names}
    first = {name for name, priority in ranked.items() if priority == max(ranked.values())}
    assert first == {"workers-a-", "workers-b-", "workers-c-"}
    # A group without a number would never be extended.
    assert None not in ranked.values()


def _priority(patterns: dict[int, list[str]], name: str) -> int:
    return max(number for number, found in patterns.items() if any(re.search(each, name) for each in found))
