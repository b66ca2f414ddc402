from ipaddress import IPv4Network

import pytest
from pydantic import ValidationError

from infra.sizes import ClusterSettings

from ..conftest import Synthesised
from .references import Stack, follow, key_alias, one, resources


def test_the_api_is_private(side: Stack) -> None:
    network = one(side, "aws_eks_cluster")["vpc_config"]
    assert network["endpoint_private_access"] is True
    assert network["endpoint_public_access"] is False
    subnets = [follow(side, each) for each in network["subnet_ids"]]
    assert len({each["availability_zone"] for each in subnets}) == 3
    assert all("-private-" in each["tags"]["Name"] for each in subnets)


def test_named_ranges_and_no_others_reach_the_api_from_outside(synthesised: Synthesised) -> None:
    # Importing cdktf starts Node.js; the fixture skips if that is missing.
    from infra.components.kubernetes.cluster import api_access  # noqa: PLC0415

    network = api_access([IPv4Network("203.0.113.0/24")], subnet_ids=["subnet-1"])
    assert network.endpoint_private_access is True
    assert network.endpoint_public_access is True
    assert network.public_access_cidrs == ["203.0.113.0/24"]


def test_the_api_cannot_be_opened_to_everyone() -> None:
    with pytest.raises(ValidationError, match="public_access"):
        ClusterSettings.model_validate({"public_access": ["0.0.0.0/0"]})


def test_secrets_are_encrypted_with_the_key_of_the_cluster(side: Stack, environment: str) -> None:
    encryption = one(side, "aws_eks_cluster")["encryption_config"]
    assert encryption["resources"] == ["secrets"]
    assert key_alias(side, encryption["provider"]["key_arn"]) == f"alias/hifi-{environment}-cluster"


def test_the_control_plane_logs_everything_into_our_group(side: Stack) -> None:
    cluster = one(side, "aws_eks_cluster")
    kinds = {"api", "audit", "authenticator", "controllerManager", "scheduler"}
    assert set(cluster["enabled_cluster_log_types"]) == kinds
    # EKS writes to the group with this name, and creates it if it is missing.
    (address, group) = next(
        (f"aws_cloudwatch_log_group.{key}", each)
        for key, each in side["resource"]["aws_cloudwatch_log_group"].items()
        if each["name"] == f"/aws/eks/{cluster['name']}/cluster"
    )
    assert address in cluster["depends_on"]
    assert group["retention_in_days"] > 0


def test_rights_come_from_access_entries_alone(side: Stack, environment: str) -> None:
    access = one(side, "aws_eks_cluster")["access_config"]
    assert access["authentication_mode"] == "API"
    assert access["bootstrap_cluster_creator_admin_permissions"] is False
    principals = [each["principal_arn"] for each in resources(side, "aws_eks_access_entry")]
    names = [each.rpartition("/")[2] for each in principals]
    administrators = [f"hifi-{environment}-deploy", "administrators"]
    assert names == [*administrators, f"hifi-{environment}-deployer"]
    policies = resources(side, "aws_eks_access_policy_association")
    assert [follow(side, each["principal_arn"])["principal_arn"] for each in policies] == principals[:2]


def test_kubernetes_addresses_are_apart_from_the_networks(side: Stack) -> None:
    services = IPv4Network(one(side, "aws_eks_cluster")["kubernetes_network_config"]["service_ipv4_cidr"])
    assert not services.overlaps(IPv4Network(one(side, "aws_vpc")["cidr_block"]))


def test_network_policies_are_enforced(side: Stack) -> None:
    (plugin,) = [each for each in resources(side, "aws_eks_addon") if each["addon_name"] == "vpc-cni"]
    assert '"enableNetworkPolicy": "true"' in plugin["configuration_values"]


def test_nodes_find_their_network_and_dns_finds_nodes(side: Stack) -> None:
    addons = side["resource"]["aws_eks_addon"]
    address = {each["addon_name"]: f"aws_eks_addon.{key}" for key, each in addons.items()}
    for group in resources(side, "aws_eks_node_group"):
        assert {address["vpc-cni"], address["kube-proxy"], address["eks-pod-identity-agent"]} <= set(
            group["depends_on"]
        )
    for name in ("coredns", "aws-ebs-csi-driver"):
        (on_nodes,) = [each for each in addons.values() if each["addon_name"] == name]
        assert {f"aws_eks_node_group.{key}" for key in side["resource"]["aws_eks_node_group"]} <= set(
            on_nodes["depends_on"]
        )


def test_addons_that_call_aws_have_roles_of_their_own(side: Stack) -> None:
    roles = {
        each["addon_name"]: follow(side, identity["role_arn"])
        for each in resources(side, "aws_eks_addon")
        for identity in each.get("pod_identity_association", [])
    }
    assert set(roles) == {"vpc-cni", "aws-ebs-csi-driver"}
    for role in roles.values():
        assert "aws:RequestTag/kubernetes-service-account" in role["assume_role_policy"]


def test_addons_have_pinned_versions(side: Stack) -> None:
    addons = resources(side, "aws_eks_addon")
    assert len(addons) == 5
    assert all("-eksbuild." in each["addon_version"] for each in addons)
