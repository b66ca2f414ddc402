"""The parts of Kubernetes that EKS itself installs and patches."""

import json
from collections.abc import Sequence
from typing import Any

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_aws.eks_addon import EksAddon, EksAddonPodIdentityAssociation
from constructs import Construct

from infra.components.pod_identities import pod_trust
from infra.components.role import Role


class BeforeNodes(Construct):
    """What a node needs to become ready. No versions: EKS takes the default of the cluster's version."""

    def __init__(
        self, scope: Construct, name: str, *, prefix: str, cluster_name: str, boundary_arn: str
    ) -> None:
        """Declare the add-ons.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            prefix: Name of the cluster, and what names in AWS start with.
            cluster_name: The same, known once the cluster exists.
            boundary_arn: Permissions boundary of the network plug-in's role.
        """
        super().__init__(scope, name)
        network_role = Role(
            self,
            "network-role",
            role_name=f"{prefix}-pod-network",
            boundary_arn=boundary_arn,
            trust=pod_trust(cluster=prefix, namespace="kube-system", service_account="aws-node"),
            managed=["AmazonEKS_CNI_Policy"],
        )
        agent = _addon(self, "eks-pod-identity-agent", cluster_name)
        network = _addon(
            self,
            "vpc-cni",
            cluster_name,
            # Without it Kubernetes takes network policies and nobody enforces them.
            configuration={"enableNetworkPolicy": "true"},
            identity=EksAddonPodIdentityAssociation(role_arn=network_role.arn, service_account="aws-node"),
            after=[agent, *network_role.grants],
        )
        self.addons: list[ITerraformDependable] = [agent, network, _addon(self, "kube-proxy", cluster_name)]


class AfterNodes(Construct):
    """What itself runs on nodes: the cluster's DNS, and the driver that gives pods their volumes."""

    def __init__(  # noqa: PLR0913 -- keywords, each a fact of the add-ons
        self,
        scope: Construct,
        name: str,
        *,
        prefix: str,
        cluster_name: str,
        boundary_arn: str,
        nodes: Sequence[ITerraformDependable],
    ) -> None:
        """Declare the add-ons.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            prefix: Name of the cluster, and what names in AWS start with.
            cluster_name: The same, known once the cluster exists.
            boundary_arn: Permissions boundary of the driver's role.
            nodes: Node groups they wait for.
        """
        super().__init__(scope, name)
        account = "ebs-csi-controller-sa"
        role = Role(
            self,
            "volumes-role",
            role_name=f"{prefix}-pod-volumes",
            boundary_arn=boundary_arn,
            trust=pod_trust(cluster=prefix, namespace="kube-system", service_account=account),
            managed=["service-role/AmazonEBSCSIDriverPolicy"],
        )
        volumes = _addon(
            self,
            "aws-ebs-csi-driver",
            cluster_name,
            identity=EksAddonPodIdentityAssociation(role_arn=role.arn, service_account=account),
            after=[*nodes, *role.grants],
        )
        self.addons: list[ITerraformDependable] = [
            _addon(self, "coredns", cluster_name, after=nodes),
            volumes,
        ]


def _addon(  # noqa: PLR0913 -- keywords, each a part of an add-on
    scope: Construct,
    addon: str,
    cluster_name: str,
    *,
    configuration: dict[str, Any] | None = None,
    identity: EksAddonPodIdentityAssociation | None = None,
    after: Sequence[ITerraformDependable] = (),
) -> EksAddon:
    return EksAddon(
        scope,
        addon,
        cluster_name=cluster_name,
        addon_name=addon,
        configuration_values=None if configuration is None else json.dumps(configuration),
        pod_identity_association=None if identity is None else [identity],
        # What the settings here say holds, also over what someone changed by hand.
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="OVERWRITE",
        depends_on=list(after),
    )
