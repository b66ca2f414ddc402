"""Roles of pods: which service account may do what in AWS."""

from collections.abc import Sequence
from dataclasses import dataclass

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_aws.eks_pod_identity_association import EksPodIdentityAssociation
from constructs import Construct

from infra.aws.policy import Statement
from infra.components.role import Role, Trust


@dataclass(frozen=True, kw_only=True)
class PodIdentity:
    """A service account and what its pods may do."""

    namespace: str
    service_account: str
    statements: Sequence[Statement]


def pod_trust(*, cluster: str, namespace: str, service_account: str) -> Trust:
    """Trust in the pods of one service account of one cluster.

    EKS tags the session with them, so that the role is of no use to any other pod, even by mistake.

    Args:
        cluster: Name of the EKS cluster.
        namespace: Namespace of the service account.
        service_account: Its name.
    """
    tags = {
        "aws:RequestTag/eks-cluster-name": cluster,
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": service_account,
    }
    return Trust(
        service="pods.eks.amazonaws.com",
        actions=("sts:AssumeRole", "sts:TagSession"),
        conditions={"StringEquals": tags},
    )


class PodIdentities(Construct):
    """A role and its association for each identity."""

    def __init__(  # noqa: PLR0913 -- keywords, each a fact of the identities
        self,
        scope: Construct,
        name: str,
        *,
        prefix: str,
        cluster_name: str,
        boundary_arn: str,
        identities: Sequence[PodIdentity],
    ) -> None:
        """Declare roles and associations.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            prefix: Name of the cluster, and what names in AWS start with.
            cluster_name: The same, known once the cluster exists.
            boundary_arn: Permissions boundary of the roles.
            identities: Who may do what.
        """
        super().__init__(scope, name)
        self._prefix, self._cluster_name, self._boundary_arn = prefix, cluster_name, boundary_arn
        self.associations: list[ITerraformDependable] = [self._associate(each) for each in identities]

    def _associate(self, identity: PodIdentity) -> EksPodIdentityAssociation:
        account = identity.service_account
        role = Role(
            self,
            f"{account}-role",
            role_name=f"{self._prefix}-pod-{account}",
            boundary_arn=self._boundary_arn,
            trust=pod_trust(cluster=self._prefix, namespace=identity.namespace, service_account=account),
            statements=identity.statements,
        )
        return EksPodIdentityAssociation(
            self,
            account,
            cluster_name=self._cluster_name,
            namespace=identity.namespace,
            service_account=account,
            role_arn=role.arn,
            depends_on=role.grants,
        )
