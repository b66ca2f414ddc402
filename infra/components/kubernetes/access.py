"""Access entries: the IAM roles that may use a cluster's Kubernetes API."""

from collections.abc import Sequence

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_aws.eks_access_entry import EksAccessEntry
from cdktf_cdktf_provider_aws.eks_access_policy_association import (
    EksAccessPolicyAssociation,
    EksAccessPolicyAssociationAccessScope,
)
from constructs import Construct

_ADMINISTRATOR = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


class ClusterAccess(Construct):
    """Access entries of a cluster's administrators. EKS creates those of the nodes."""

    def __init__(
        self, scope: Construct, name: str, *, cluster_name: str, administrators: Sequence[str]
    ) -> None:
        """Declare the entries.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            cluster_name: Name of the EKS cluster.
            administrators: ARNs of IAM roles. The deploy role must be one: it installs cluster-wide add-ons.
        """
        super().__init__(scope, name)
        self.grants: list[ITerraformDependable] = [
            self._admit(f"administrator-{position}", cluster_name, arn)
            for position, arn in enumerate(administrators)
        ]

    def _admit(self, part: str, cluster_name: str, role_arn: str) -> EksAccessPolicyAssociation:
        entry = EksAccessEntry(self, part, cluster_name=cluster_name, principal_arn=role_arn)
        return EksAccessPolicyAssociation(
            self,
            f"{part}-policy",
            cluster_name=cluster_name,
            principal_arn=entry.principal_arn,
            policy_arn=_ADMINISTRATOR,
            access_scope=EksAccessPolicyAssociationAccessScope(type="cluster"),
        )
