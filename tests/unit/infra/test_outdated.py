"""Pinned versions that are outdated."""

from typing import Any

import pytest

from infra.config import RunSettings, load_environment
from infra.outdated.offers import pins
from infra.outdated.versions import Pin, newest, table, version_key

LOCAL = load_environment(RunSettings())
ADDONS = LOCAL.cluster.addons.by_name()


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("v1.13.2-eksbuild.9", "v1.13.2-eksbuild.10"),
        ("1.35.7-20260903", "1.35.7-20261101"),
        ("9.9.0", "9.10.0"),
    ],
)
def test_versions_are_compared_by_their_numbers(older: str, newer: str) -> None:
    assert version_key(older) < version_key(newer)


def test_a_release_candidate_is_not_newest() -> None:
    assert newest(["2.0.0-rc1", "1.9.0", "1.10.0"]) == "1.10.0"
    assert newest([]) is None


def test_only_what_is_behind_or_unknown_is_listed() -> None:
    found = table(
        [
            Pin(field="a", pinned="1.0", newest="1.1"),
            Pin(field="b", pinned="1.1", newest="1.1"),
            Pin(field="c", pinned="1.2", newest="1.1"),
            Pin(field="d", pinned="1.0", newest=None),
        ]
    )
    assert found == ["a: 1.0 -> 1.1", "d: 1.0, and no newest version could be found out"]


class Eks:
    """Offers one newer version of coredns."""

    def describe_addon_versions(self, *, addonName: str, kubernetesVersion: str) -> dict[str, Any]:  # noqa: N803
        assert kubernetesVersion == LOCAL.cluster.version
        offered = "v9.9.9-eksbuild.1" if addonName == "coredns" else ADDONS[addonName]
        return {"addons": [{"addonVersions": [{"addonVersion": offered}]}]}

    def describe_cluster_versions(self, *, defaultOnly: bool) -> dict[str, Any]:  # noqa: N803
        version = {"clusterVersion": LOCAL.cluster.version, "versionStatus": "STANDARD_SUPPORT"}
        return {"clusterVersions": [version]}


class Ssm:
    """Knows one image."""

    def get_parameters(self, *, Names: list[str]) -> dict[str, Any]:  # noqa: N803
        (name,) = Names
        assert "/arm64/" in name
        return {"Parameters": [{"Value": "1.35.99-20991231"}]}


def index(repository: str) -> dict[str, Any]:
    """A repository with a newer chart for KEDA only; one repository cannot be reached."""
    if "eks-charts" in repository:
        raise OSError(repository)
    versions = LOCAL.cluster.charts
    return {
        "entries": {
            "keda": [{"version": "99.0.0"}, {"version": versions.keda}],
            "cluster-autoscaler": [{"version": versions.cluster_autoscaler}],
            "metrics-server": [{"version": versions.metrics_server}],
            "kube-prometheus-stack": [{"version": versions.prometheus}],
        }
    }


def test_addons_images_and_charts_are_asked_for() -> None:
    clients = {"eks": Eks(), "ssm": Ssm()}
    found = list(pins(LOCAL, lambda service: clients[service], index))
    assert {each.field for each in found if each.is_behind} == {
        "cluster.addons.coredns",
        "cluster.node_release",
        "cluster.charts.keda",
    }
    assert [each.field for each in found if each.newest is None] == [
        "cluster.charts.load_balancer_controller",
        "cluster.charts.fluent_bit",
    ]
