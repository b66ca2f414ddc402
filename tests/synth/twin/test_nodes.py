import json

import pytest
from pydantic import ValidationError

from infra.components.kubernetes.node_pools import Pool
from infra.sizes import NodeGroup

from .references import Resource, Stack, follow, key_alias, one, resources

_HINT = "k8s.io/cluster-autoscaler/node-template"
_EFFECTS = {"NO_SCHEDULE": "NoSchedule"}


def _groups(stack: Stack) -> dict[str, Resource]:
    return {each["labels"]["hifi/pool"]: each for each in resources(stack, "aws_eks_node_group")}


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
    return {each["tag"]["key"]: each["tag"]["value"] for each in found}


def test_only_spark_workers_are_on_spot(side: Stack) -> None:
    assert {name: each["capacity_type"] for name, each in _groups(side).items()} == {
        "services": "ON_DEMAND",
        "drivers": "ON_DEMAND",
        "workers": "SPOT",
    }


def test_spot_can_choose_among_several_instance_types(side: Stack) -> None:
    assert len(_groups(side)["workers"]["instance_types"]) >= 4


def test_nodes_are_in_all_three_zones(side: Stack) -> None:
    for group in _groups(side).values():
        subnets = [follow(side, each) for each in group["subnet_ids"]]
        assert len({each["availability_zone"] for each in subnets}) == 3
        assert all("-private-" in each["tags"]["Name"] for each in subnets)


def test_only_who_tolerates_it_runs_beside_spark(side: Stack) -> None:
    groups = _groups(side)
    assert "taint" not in groups["services"]
    for name in ("drivers", "workers"):
        (taint,) = groups[name]["taint"]
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
        taints = {
            key.removeprefix(f"{_HINT}/taint/"): value for key, value in tags.items() if "/taint/" in key
        }
        assert taints == {
            each["key"]: f"{each['value']}:{_EFFECTS[each['effect']]}" for each in group.get("taint", [])
        }
        disk = follow(side, group["launch_template"]["id"])["block_device_mappings"][0]["ebs"]["volume_size"]
        assert tags[f"{_HINT}/resources/ephemeral-storage"] == f"{disk}Gi"


def test_a_dark_side_runs_no_spark(side: Stack) -> None:
    groups = _groups(side)
    assert groups["drivers"]["scaling_config"]["min_size"] == 0
    assert groups["workers"]["scaling_config"]["min_size"] == 0


def test_terraform_leaves_the_size_to_the_autoscaler(side: Stack) -> None:
    for group in _groups(side).values():
        assert group["lifecycle"]["ignore_changes"] == ["scaling_config[0].desired_size"]


def test_a_group_is_replaced_by_one_that_is_ready(side: Stack) -> None:
    for group in _groups(side).values():
        assert group["lifecycle"]["create_before_destroy"] is True
        assert "node_group_name" not in group  # a fixed name would be taken


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
    group = NodeGroup(instance_types=list(instance_types), minimum=0, maximum=1)
    return Pool(name="workers", capacity="SPOT", reserved=True, group=group)


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
