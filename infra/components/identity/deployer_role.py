"""The role of the deployer's pods: one for both sides, since each of them acts on both."""

from collections.abc import Mapping

from constructs import Construct

from infra.components.identity.deployer_statements import deployer_statements
from infra.components.identity.pod_identities import PodIdentity, pod_trust
from infra.components.identity.role import Role
from infra.components.identity.workload_identities import NAMESPACE
from infra.config import Environment
from infra.naming import Side

DEPLOYER = "deploy"
"""Service account of the deployer's pods."""


class DeployerRole(Construct):
    """The role, in foundation: neither side could name one of the other's, which may not be there.

    It has no permissions boundary. That caps what the deploy role may make, which cannot change this one.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        environment: Environment,
        zone_arn: str,
        key_arns: Mapping[str, str],
    ) -> None:
        """Declare the role.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
            zone_arn: The hosted zone; the deployer changes its weighted records.
            key_arns: KMS keys by purpose: `data` and `images`.
        """
        super().__init__(scope, name)
        identity = PodIdentity(namespace=NAMESPACE, service_account=DEPLOYER)
        clusters = [environment.twin(side).names.prefix for side in Side]
        Role(
            self,
            "role",
            role_name=environment.names.deployer_role,
            boundary_arn=None,
            trust=pod_trust(clusters, identity),
            statements=deployer_statements(environment, zone_arn=zone_arn, key_arns=key_arns),
        )
