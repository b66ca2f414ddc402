"""Service-linked roles that must exist before something can name them as a principal."""

from collections.abc import Sequence

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_aws.iam_service_linked_role import IamServiceLinkedRole
from constructs import Construct

from infra.aws.arns import AUTOSCALING


class ServiceLinkedRoles(Construct):
    """The roles of services that an account without them needs.

    AWS creates such a role when a service is first used, which is too late here: the policy of a KMS key may
    name existing principals only. An account can have each role once.
    """

    def __init__(self, scope: Construct, name: str, *, existing: Sequence[str]) -> None:
        """Declare the roles that do not exist.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            existing: Services that have their role in the account already.
        """
        super().__init__(scope, name)
        self.roles: list[ITerraformDependable] = [
            IamServiceLinkedRole(self, service.partition(".")[0], aws_service_name=service)
            for service in (AUTOSCALING,)
            if service not in existing
        ]
