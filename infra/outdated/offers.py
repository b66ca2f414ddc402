"""The newest versions that AWS and the charts' repositories offer for those that an environment pins."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import urlopen

import yaml

from infra.components.kubernetes.chart_sources import CHART_SOURCES
from infra.config import Environment
from infra.outdated.versions import Pin, newest
from infra.preflight.account import Client
from infra.sizes import NodeGroup

_TIMEOUT_S = 30


def read_index(repository: str) -> dict[str, Any]:
    """The index of a Helm repository.

    Raises:
        OSError: It cannot be read.
    """
    with urlopen(f"{repository}/index.yaml", timeout=_TIMEOUT_S) as reply:  # noqa: S310 -- our own constants
        found: dict[str, Any] = yaml.safe_load(reply.read())
    return found


def pins(
    environment: Environment, client: Client, index: Callable[[str], dict[str, Any]] = read_index
) -> Iterator[Pin]:
    """Yield every pinned version of a side with the newest one offered.

    Args:
        environment: Settings of the environment.
        client: Gives boto3 clients.
        index: Reads the index of a Helm repository.
    """
    cluster = environment.cluster
    eks = client("eks")
    for addon, pinned in cluster.addons.by_name().items():
        found = eks.describe_addon_versions(addonName=addon, kubernetesVersion=cluster.version)["addons"]
        offered = newest(each["addonVersion"] for every in found for each in every["addonVersions"])
        yield Pin(field=f"cluster.addons.{addon.replace('-', '_')}", pinned=pinned, newest=offered)
    yield Pin(
        field="cluster.node_release",
        pinned=cluster.node_release,
        newest=_node_release(client, cluster.version, cluster.services),
    )
    versions = eks.describe_cluster_versions(defaultOnly=False)["clusterVersions"]
    offered = newest(
        each["clusterVersion"] for each in versions if each.get("versionStatus") == "STANDARD_SUPPORT"
    )
    yield Pin(field="cluster.version", pinned=cluster.version, newest=offered)
    yield from _charts(environment, index)


def _node_release(client: Client, kubernetes: str, group: NodeGroup) -> str | None:
    processor = "arm64" if group.is_graviton else "x86_64"
    ssm = client("ssm")
    name = (
        f"/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2023/{processor}/standard/recommended/"
        "release_version"
    )
    found = ssm.get_parameters(Names=[name])["Parameters"]
    return str(found[0]["Value"]) if found else None


def _charts(environment: Environment, index: Callable[[str], dict[str, Any]]) -> Iterator[Pin]:
    for field, pinned in environment.cluster.charts.model_dump().items():
        source = CHART_SOURCES[field]
        try:
            entries = index(source.repository)["entries"].get(source.name, [])
        except OSError:
            entries = []
        offered = newest(str(each["version"]) for each in entries)
        yield Pin(field=f"cluster.charts.{field}", pinned=pinned, newest=offered)
