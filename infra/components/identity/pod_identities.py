"""Roles of pods: what the pods of a service account may do in AWS, by EKS Pod Identity."""

from collections.abc import Sequence
from dataclasses import dataclass

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_aws.eks_pod_identity_association import EksPodIdentityAssociation
from constructs import Construct

from infra.aws.policy import Statement
from infra.components.identity.role import Role, Trust


@dataclass(frozen=True, kw_only=True)
class ClusterContext:
    """The cluster that roles, nodes and add-ons belong to.

    Attributes:
        prefix: Name of the cluster, and the start of all names in AWS that belong to it.
        cluster_name: The same name as a reference, so that Terraform creates the cluster first.
        boundary_arn: Permissions boundary of every role of the cluster.
    """

    prefix: str
    cluster_name: str
    boundary_arn: str


@dataclass(frozen=True, kw_only=True)
class PodIdentity:
    """A service account and the statements that its pods' role has."""

    namespace: str
    service_account: str
    statements: Sequence[Statement] = ()


def pod_role(  # noqa: PLR0913 -- each a part of the role
    scope: Construct,
    name: str,
    *,
    cluster: ClusterContext,
    purpose: str,
    identity: PodIdentity,
    managed: Sequence[str] = (),
) -> Role:
    """Declare a role that only the pods of one service account of one cluster can assume.

    Args:
        scope: The construct that it belongs to.
        name: Construct id in it.
        cluster: The EKS cluster.
        purpose: End of the role's name in AWS.
        identity: The service account, and what its pods may do.
        managed: AWS managed policies that the role also has.
    """
    return Role(
        scope,
        name,
        role_name=f"{cluster.prefix}-pod-{purpose}",
        boundary_arn=cluster.boundary_arn,
        trust=pod_trust(cluster.prefix, identity),
        statements=identity.statements,
        managed=managed,
    )


def pod_trust(clusters: str | Sequence[str], identity: PodIdentity) -> Trust:
    """Trust in the pods of a service account.

    Args:
        clusters: Name of their EKS cluster; of several, any.
        identity: The service account.
    """
    # EKS tags the session with these three, so no other pod can assume the role, even by a wrong association.
    tags = {
        "aws:RequestTag/eks-cluster-name": clusters,
        "aws:RequestTag/kubernetes-namespace": identity.namespace,
        "aws:RequestTag/kubernetes-service-account": identity.service_account,
    }
    return Trust(
        service="pods.eks.amazonaws.com",
        actions=("sts:AssumeRole", "sts:TagSession"),
        conditions={"StringEquals": tags},
    )


class PodIdentities(Construct):
    """A role and its association for each identity."""

    def __init__(
        self, scope: Construct, name: str, *, cluster: ClusterContext, identities: Sequence[PodIdentity]
    ) -> None:
        """Declare roles and associations.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            cluster: The EKS cluster.
            identities: Service accounts and what their pods may do.
        """
        super().__init__(scope, name)
        self.associations: list[ITerraformDependable] = [
            self._associate(cluster, each) for each in identities
        ]

    def _associate(self, cluster: ClusterContext, identity: PodIdentity) -> EksPodIdentityAssociation:
        account = identity.service_account
        role = pod_role(self, f"{account}-role", cluster=cluster, purpose=account, identity=identity)
        return EksPodIdentityAssociation(
            self,
            account,
            cluster_name=cluster.cluster_name,
            namespace=identity.namespace,
            service_account=account,
            role_arn=role.arn,
            depends_on=role.grants,
        )
