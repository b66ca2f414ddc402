"""A side's Kubernetes: an EKS cluster whose API is private unless ranges are named."""

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

from infra.components.log_group import log_group
from infra.components.role import Role, Trust
from infra.sizes import ClusterSettings

_CONTROL_PLANE_LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_SERVICE_RANGE = "172.20.0.0/16"
"""Outside of 10.0.0.0/8, where the sides' and their neighbours' networks are."""


class Cluster(Construct):
    """The control plane, its role and its log group."""

    def __init__(  # noqa: PLR0913 -- keywords, each a fact of the cluster
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
            name: Name of this part in the stack.
            prefix: Name of the cluster, and what its other names start with.
            settings: Version, who reaches the API, retention of logs.
            boundary_arn: Permissions boundary of its role.
            subnet_ids: Private subnets of the API's network interfaces.
            key_arn: KMS key of the secrets.
            log_key_arn: KMS key of the control plane's logs.
        """
        super().__init__(scope, name)
        role = Role(
            self,
            "role",
            role_name=f"{prefix}-cluster",
            boundary_arn=boundary_arn,
            trust=Trust(service="eks.amazonaws.com"),
            managed=["AmazonEKSClusterPolicy"],
        )
        # EKS would make the group by itself: unencrypted, and kept for ever.
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
            kubernetes_network_config=EksClusterKubernetesNetworkConfig(service_ipv4_cidr=_SERVICE_RANGE),
            # Who may do what is in access entries alone; whoever makes the cluster gets nothing by that.
            access_config=EksClusterAccessConfig(
                authentication_mode="API", bootstrap_cluster_creator_admin_permissions=False
            ),
            encryption_config=EksClusterEncryptionConfig(
                resources=["secrets"], provider=EksClusterEncryptionConfigProvider(key_arn=key_arn)
            ),
            enabled_cluster_log_types=list(_CONTROL_PLANE_LOGS),
            upgrade_policy=EksClusterUpgradePolicy(support_type="STANDARD"),
            # AWS may take a failing zone out of the side's routes.
            zonal_shift_config=EksClusterZonalShiftConfig(enabled=True),
            bootstrap_self_managed_addons=False,  # `ManagedAddons` has them
            depends_on=[logs, *role.grants],
        )

    @property
    def name(self) -> str:
        """Name of the cluster, known once it exists."""
        return str(self._cluster.name)

    @property
    def arn(self) -> str:
        """ARN of the cluster."""
        return str(self._cluster.arn)

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
        """The group EKS makes for its nodes and its control plane."""
        return str(self._cluster.vpc_config.cluster_security_group_id)


def api_access(ranges: Sequence[IPv4Network], *, subnet_ids: Sequence[str]) -> EksClusterVpcConfig:
    """Who reaches the Kubernetes API: the network always, and from outside only the ranges.

    Args:
        ranges: Ranges outside; without any there is no public endpoint.
        subnet_ids: Private subnets of the API's network interfaces.
    """
    return EksClusterVpcConfig(
        subnet_ids=list(subnet_ids),
        endpoint_private_access=True,
        endpoint_public_access=bool(ranges),
        public_access_cidrs=[str(each) for each in ranges] or None,
    )
