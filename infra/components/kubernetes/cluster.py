"""A side's Kubernetes: an EKS cluster with a private API, unless the settings open it to address ranges."""

from collections.abc import Sequence
from ipaddress import IPv4Network

from cdktf_cdktf_provider_aws.eks_cluster import (
    EksCluster,
    EksClusterAccessConfig,
    EksClusterEncryptionConfig,
    EksClusterEncryptionConfigProvider,
    EksClusterKubernetesNetworkConfig,
    EksClusterUpgradePolicy,
    EksClusterVpcConfig,
    EksClusterZonalShiftConfig,
)
from constructs import Construct

from infra.aws.log_group import log_group
from infra.components.identity.role import Role, Trust
from infra.sizes import ClusterSettings

_CONTROL_PLANE_LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")
SERVICE_RANGE = "172.20.0.0/16"
"""Addresses of Kubernetes services: outside 10.0.0.0/8, which the sides and connected networks use."""


class Cluster(Construct):
    """The control plane, its role and its log group."""

    def __init__(  # noqa: PLR0913 -- each a property of the cluster
        self,
        scope: Construct,
        name: str,
        *,
        prefix: str,
        settings: ClusterSettings,
        boundary_arn: str,
        subnet_ids: Sequence[str],
        key_arn: str,
        log_key_arn: str,
    ) -> None:
        """Declare the control plane.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            prefix: Name of the cluster, and the start of its other names.
            settings: Version, ranges that reach the API, retention of logs.
            boundary_arn: Permissions boundary of the cluster's role.
            subnet_ids: Private subnets of the API's network interfaces.
            key_arn: KMS key of Kubernetes secrets.
            log_key_arn: KMS key of the control plane's logs.
        """
        super().__init__(scope, name)
        role = self._role(prefix, boundary_arn)
        # Without it EKS creates one by itself, which is not encrypted and keeps its entries for ever.
        logs = log_group(
            self, "logs", name=f"/aws/eks/{prefix}/cluster", key_arn=log_key_arn, days=settings.log_days
        )
        self._cluster = EksCluster(
            self,
            "cluster",
            name=prefix,
            version=settings.version,
            role_arn=role.arn,
            vpc_config=api_access(settings.public_access, subnet_ids=subnet_ids),
            kubernetes_network_config=EksClusterKubernetesNetworkConfig(service_ipv4_cidr=SERVICE_RANGE),
            access_config=_access_entries_only(),
            encryption_config=EksClusterEncryptionConfig(
                resources=["secrets"], provider=EksClusterEncryptionConfigProvider(key_arn=key_arn)
            ),
            enabled_cluster_log_types=list(_CONTROL_PLANE_LOGS),
            upgrade_policy=EksClusterUpgradePolicy(support_type="STANDARD"),
            # Lets AWS shift traffic away from a failing zone.
            zonal_shift_config=EksClusterZonalShiftConfig(enabled=True),
            bootstrap_self_managed_addons=False,  # see managed_addons.py
            depends_on=[logs, *role.grants],
        )

    def _role(self, prefix: str, boundary_arn: str) -> Role:
        return Role(
            self,
            "role",
            role_name=f"{prefix}-cluster",
            boundary_arn=boundary_arn,
            trust=Trust(service="eks.amazonaws.com"),
            managed=["AmazonEKSClusterPolicy"],
        )

    @property
    def name(self) -> str:
        """Name of the cluster, as a reference to it."""
        return str(self._cluster.name)

    @property
    def endpoint(self) -> str:
        """URL of the Kubernetes API."""
        return str(self._cluster.endpoint)

    @property
    def certificate_authority(self) -> str:
        """The API's certificate authority, base64 of PEM."""
        return str(self._cluster.certificate_authority.get(0).data)

    @property
    def security_group_id(self) -> str:
        """Id of the security group that EKS creates for nodes and control plane."""
        return str(self._cluster.vpc_config.cluster_security_group_id)


def _access_entries_only() -> EksClusterAccessConfig:
    """Access entries alone decide who may use the API: creating the cluster grants nothing."""
    return EksClusterAccessConfig(
        authentication_mode="API", bootstrap_cluster_creator_admin_permissions=False
    )


def api_access(ranges: Sequence[IPv4Network], *, subnet_ids: Sequence[str]) -> EksClusterVpcConfig:
    """Network access to the Kubernetes API: always from the VPC, from outside only from these ranges.

    Args:
        ranges: Public address ranges; if empty there is no public endpoint.
        subnet_ids: Private subnets of the API's network interfaces.
    """
    return EksClusterVpcConfig(
        subnet_ids=list(subnet_ids),
        endpoint_private_access=True,
        endpoint_public_access=bool(ranges),
        public_access_cidrs=[str(each) for each in ranges] or None,
    )
