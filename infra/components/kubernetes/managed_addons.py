"""EKS managed add-ons: the parts of Kubernetes that EKS installs and patches, in pinned versions."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_aws.eks_addon import EksAddon, EksAddonPodIdentityAssociation
from constructs import Construct

from infra.components.identity.addon_identities import SYSTEM_NAMESPACE
from infra.components.identity.pod_identities import ClusterContext, PodIdentity, pod_role
from infra.components.identity.role import Role

_NETWORK_PLUGIN = PodIdentity(namespace=SYSTEM_NAMESPACE, service_account="aws-node")
_VOLUME_DRIVER = PodIdentity(namespace=SYSTEM_NAMESPACE, service_account="ebs-csi-controller-sa")


class BeforeNodes(Construct):
    """Add-ons without which no node becomes ready."""

    def __init__(
        self, scope: Construct, name: str, *, cluster: ClusterContext, versions: Mapping[str, str]
    ) -> None:
        """Declare the add-ons.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            cluster: The EKS cluster.
            versions: Version of each add-on, by its name.
        """
        super().__init__(scope, name)
        role = pod_role(
            self,
            "network-role",
            cluster=cluster,
            purpose="network",
            identity=_NETWORK_PLUGIN,
            managed=["AmazonEKS_CNI_Policy"],
        )
        agent = _addon(self, "eks-pod-identity-agent", cluster, versions)
        network = _addon(
            self,
            "vpc-cni",
            cluster,
            versions,
            # Without it Kubernetes accepts network policies, but does not enforce them.
            configuration={"enableNetworkPolicy": "true"},
            identity=_association(role, _NETWORK_PLUGIN),
            after=[agent, *role.grants],
        )
        self.addons: list[ITerraformDependable] = [
            agent,
            network,
            _addon(self, "kube-proxy", cluster, versions),
        ]


class AfterNodes(Construct):
    """Add-ons that themselves run on nodes: the cluster's DNS and the driver of pods' volumes."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        cluster: ClusterContext,
        versions: Mapping[str, str],
        nodes: Sequence[ITerraformDependable],
    ) -> None:
        """Declare the add-ons.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            cluster: The EKS cluster.
            versions: Version of each add-on, by its name.
            nodes: Node groups that the add-ons wait for.
        """
        super().__init__(scope, name)
        role = pod_role(
            self,
            "volumes-role",
            cluster=cluster,
            purpose="volumes",
            identity=_VOLUME_DRIVER,
            managed=["service-role/AmazonEBSCSIDriverPolicy"],
        )
        volumes = _addon(
            self,
            "aws-ebs-csi-driver",
            cluster,
            versions,
            identity=_association(role, _VOLUME_DRIVER),
            after=[*nodes, *role.grants],
        )
        self.addons: list[ITerraformDependable] = [
            _addon(self, "coredns", cluster, versions, after=nodes),
            volumes,
        ]


def _association(role: Role, identity: PodIdentity) -> EksAddonPodIdentityAssociation:
    return EksAddonPodIdentityAssociation(role_arn=role.arn, service_account=identity.service_account)


def _addon(  # noqa: PLR0913 -- each a part of the add-on
    scope: Construct,
    addon: str,
    cluster: ClusterContext,
    versions: Mapping[str, str],
    *,
    configuration: dict[str, Any] | None = None,
    identity: EksAddonPodIdentityAssociation | None = None,
    after: Sequence[ITerraformDependable] = (),
) -> EksAddon:
    return EksAddon(
        scope,
        addon,
        cluster_name=cluster.cluster_name,
        addon_name=addon,
        addon_version=versions[addon],
        configuration_values=None if configuration is None else json.dumps(configuration),
        pod_identity_association=None if identity is None else [identity],
        # These settings replace what was changed by hand in the cluster.
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="OVERWRITE",
        depends_on=list(after),
    )
