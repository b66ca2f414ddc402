"""The deployer's access to a side's Kubernetes: its IAM role, mapped to a Kubernetes group."""

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_aws.eks_access_entry import EksAccessEntry
from cdktf_cdktf_provider_aws.eks_pod_identity_association import EksPodIdentityAssociation
from constructs import Construct

from infra.components.identity.deployer_role import DEPLOYER
from infra.components.identity.workload_identities import NAMESPACE

DEPLOYER_GROUP = "hifi:deployer"
"""The group that `infra/workloads/cluster` gives rights to, in hifi's namespace alone; no access policy of
EKS does."""


class DeployerAccess(Construct):
    """Gives the role to the side's own deployer, and the group to the role, which both deployers have."""

    def __init__(self, scope: Construct, name: str, *, cluster_name: str, role_arn: str) -> None:
        """Declare association and access entry.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            cluster_name: Name of the EKS cluster.
            role_arn: The deployer's role, which foundation declares.
        """
        super().__init__(scope, name)
        EksAccessEntry(
            self,
            "entry",
            cluster_name=cluster_name,
            principal_arn=role_arn,
            kubernetes_groups=[DEPLOYER_GROUP],
        )
        self.association: ITerraformDependable = EksPodIdentityAssociation(
            self,
            "role",
            cluster_name=cluster_name,
            namespace=NAMESPACE,
            service_account=DEPLOYER,
            role_arn=role_arn,
        )
