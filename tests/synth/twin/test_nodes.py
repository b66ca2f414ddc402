import json

import pytest
from pydantic import ValidationError

from infra.components.kubernetes.node_pools import Pool
from infra.sizes import NodeGroup

from .references import Resource, Stack, follow, key_alias, one, resources

_HINT = "k8s.io/cluster-autoscaler/node-template"
_EFFECTS = {"NO_SCHEDULE": "NoSchedule"}


def _groups(stack: Stack) -> dict[str, Resource]:
    """Node groups by name, such as `services-a`."""
    return {
        each["node_group_name_prefix"].removesuffix("-"): each
        for each in resources(stack, "aws_eks_node_group")
    }


def _zone(stack: Stack, group: Resource) -> str:
    (subnet,) = group["subnet_ids"]
    return str(follow(stack, subnet)["availability_zone"])


def _tags(stack: Stack, group: Resource) -> dict[str, str]:
    """Tags of the Auto Scaling group that EKS creates for a node group."""
    found = [
        each
        for each in resources(stack, "aws_autoscaling_group_tag")
        if follow(stack, each["autoscaling_group_name"]) is group
    ]
    assert all(
        each["autoscaling_group_name"].endswith(".resources[0].autoscaling_groups[0].name}") for each in found
    )
    (only,) = found
    assert (only["tag"]["key"], only["tag"]["value"]) == ("${each.key}", "${each.value}")
    tags: dict[str, str] = only["for_each"]
    return tags


def test_only_spark_workers_are_on_spot(side: Stack) -> None:
    capacities = {name.rpartition("-")[0]: each["capacity_type"] for name, each in _groups(side).items()}
    assert capacities == {
        "services": "ON_DEMAND",
        "drivers": "ON_DEMAND",
        "workers": "SPOT",
        "spare-workers": "ON_DEMAND",
    }


def test_spot_can_choose_among_eight_instance_types(side: Stack) -> None:
    assert len(set(_groups(side)["workers-a"]["instance_types"])) >= 8


def test_spark_starts_on_demand_if_there_is_no_spot_capacity(side: Stack) -> None:
    groups = _groups(side)
    for zone in "abc":
        spot, spare = groups[f"workers-{zone}"], groups[f"spare-workers-{zone}"]
        assert spare["labels"] == spot["labels"]
        assert spare["taint"] == spot["taint"]
        assert spare["scaling_config"]["max_size"] >= spot["scaling_config"]["max_size"]


def test_each_zone_has_nodes_of_every_kind(side: Stack) -> None:
    """So pods with a volume in one zone, and pods that must spread, find a node."""
    zones: dict[str, list[str]] = {}
    for name, group in _groups(side).items():
        zones.setdefault(name.rpartition("-")[0], []).append(_zone(side, group))
        (subnet,) = group["subnet_ids"]
        assert "-private-" in follow(side, subnet)["tags"]["Name"]
    assert {len(set(found)) for found in zones.values()} == {3}


def test_services_that_must_spread_find_a_node_in_each_zone(side: Stack) -> None:
    services = [group for name, group in _groups(side).items() if name.startswith("services-")]
    assert [group["scaling_config"]["min_size"] for group in services] == [1, 1, 1]


def test_failed_nodes_are_replaced(side: Stack) -> None:
    assert all(group["node_repair_config"]["enabled"] is True for group in _groups(side).values())


def test_nodes_have_a_pinned_image(side: Stack) -> None:
    for group in _groups(side).values():
        assert group["release_version"].startswith(f"{group['version']}.")


def test_only_who_tolerates_it_runs_beside_spark(side: Stack) -> None:
    groups = _groups(side)
    assert "taint" not in groups["services-a"]
    for name in ("drivers", "workers"):
        (taint,) = groups[f"{name}-a"]["taint"]
        assert taint == {"key": "hifi/pool", "value": name, "effect": "NO_SCHEDULE"}


def test_the_autoscaler_finds_every_group(side: Stack) -> None:
    cluster = one(side, "aws_eks_cluster")["name"]
    for group in _groups(side).values():
        tags = _tags(side, group)
        assert tags["k8s.io/cluster-autoscaler/enabled"] == "true"
        assert tags[f"k8s.io/cluster-autoscaler/{cluster}"] == "owned"


def test_the_autoscaler_knows_what_a_node_would_be_like(side: Stack) -> None:
    for group in _groups(side).values():
        tags = _tags(side, group)
        hinted = {
            key.removeprefix(f"{_HINT}/label/"): value for key, value in tags.items() if "/label/" in key
        }
        assert group["labels"].items() <= hinted.items()
        assert hinted["eks.amazonaws.com/capacityType"] == group["capacity_type"]
        assert hinted["topology.kubernetes.io/zone"] == _zone(side, group)
        taints = {
            key.removeprefix(f"{_HINT}/taint/"): value for key, value in tags.items() if "/taint/" in key
        }
        assert taints == {
            each["key"]: f"{each['value']}:{_EFFECTS[each['effect']]}" for each in group.get("taint", [])
        }
        disk = follow(side, group["launch_template"]["id"])["block_device_mappings"][0]["ebs"]["volume_size"]
        assert tags[f"{_HINT}/resources/ephemeral-storage"] == f"{disk}Gi"


def test_a_dark_side_runs_no_spark(side: Stack) -> None:
    spark = [group for name, group in _groups(side).items() if not name.startswith("services-")]
    assert {group["scaling_config"]["min_size"] for group in spark} == {0}


def test_terraform_leaves_the_size_to_the_autoscaler(side: Stack) -> None:
    for group in _groups(side).values():
        assert group["lifecycle"]["ignore_changes"] == ["scaling_config[0].desired_size"]


def test_a_group_is_replaced_by_one_that_is_ready(side: Stack) -> None:
    for group in _groups(side).values():
        assert group["lifecycle"]["create_before_destroy"] is True
        assert "node_group_name" not in group  # a fixed name would already exist


def test_no_pod_takes_the_role_of_its_node(side: Stack) -> None:
    for template in resources(side, "aws_launch_template"):
        assert template["metadata_options"]["http_tokens"] == "required"
        assert template["metadata_options"]["http_put_response_hop_limit"] == 1


def test_volumes_are_encrypted_with_the_key_of_the_cluster(side: Stack, environment: str) -> None:
    for template in resources(side, "aws_launch_template"):
        for mapping in template["block_device_mappings"]:
            assert json.loads(mapping["ebs"]["encrypted"]) is True
            assert key_alias(side, mapping["ebs"]["kms_key_id"]) == f"alias/hifi-{environment}-cluster"


def test_nodes_follow_the_control_plane_to_a_new_version(side: Stack) -> None:
    for group in _groups(side).values():
        assert group["version"] == one(side, "aws_eks_cluster")["version"]


def test_the_bill_of_a_side_includes_its_nodes(side: Stack) -> None:
    (provider,) = side["provider"]["aws"]
    (whose,) = provider["default_tags"]
    for template in resources(side, "aws_launch_template"):
        tags = {each["resource_type"]: each["tags"] for each in template["tag_specifications"]}
        assert whose["tags"].items() <= tags["instance"].items()
        assert whose["tags"].items() <= tags["volume"].items()


def test_nodes_are_in_the_clusters_own_group_and_in_ours(side: Stack) -> None:
    for template in resources(side, "aws_launch_template"):
        cluster, ours = template["vpc_security_group_ids"]
        assert cluster.endswith("cluster_security_group_id}")
        assert follow(side, ours)["name"].endswith("-nodes")


def _pool(*instance_types: str) -> Pool:
    group = NodeGroup(instance_types=list(instance_types), minimum=0, maximum=3)
    return Pool(name="workers", workloads="workers", capacity="SPOT", reserved=True, group=group)


@pytest.mark.parametrize(
    ("instance_types", "image"),
    [
        (("m7g.large", "c6gd.xlarge", "r8g.large"), "AL2023_ARM_64_STANDARD"),
        (("m7i.large", "m7a.large", "g5.xlarge"), "AL2023_x86_64_STANDARD"),
    ],
)
def test_the_image_is_for_the_processor(instance_types: tuple[str, ...], image: str) -> None:
    assert _pool(*instance_types).image == image


def test_two_processors_in_a_group_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"instance_types: m7g\.large, m7i\.large mix"):
        _pool("m7g.large", "m7i.large")


@pytest.mark.parametrize("field", ["minimum", "maximum"])
def test_a_size_that_does_not_divide_among_the_zones_is_refused(field: str) -> None:
    sizes = {"instance_types": ["m7g.large"], "minimum": 3, "maximum": 6}
    with pytest.raises(ValidationError, match="multiple of 3"):
        NodeGroup.model_validate(sizes | {field: 4})
