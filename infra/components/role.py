"""An IAM role that a service of AWS takes, with all it may do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_aws.iam_role import IamRole
from cdktf_cdktf_provider_aws.iam_role_policy import IamRolePolicy
from cdktf_cdktf_provider_aws.iam_role_policy_attachment import IamRolePolicyAttachment
from constructs import Construct

from infra.aws.policy import Statement, Values, policy_document, write_reasons


@dataclass(frozen=True, kw_only=True)
class Trust:
    """Who takes a role.

    Attributes:
        service: DNS name of the service, such as `ec2.amazonaws.com`.
        actions: What it calls to take the role.
        conditions: For whom it may do so, as in `Statement`.
    """

    service: str
    actions: Sequence[str] = ("sts:AssumeRole",)
    conditions: Mapping[str, Values] = field(default_factory=dict)

    def document(self) -> str:
        """The trust as the text of an IAM policy."""
        statement = Statement(
            sid="Trust",
            actions=self.actions,
            principals={"Service": self.service},
            conditions=self.conditions,
        )
        return policy_document([statement])


class Role(Construct):
    """A role, its own policy and the policies of AWS it has."""

    def __init__(  # noqa: PLR0913 -- keywords, each a part of a role
        self,
        scope: Construct,
        name: str,
        *,
        role_name: str,
        boundary_arn: str,
        trust: Trust,
        statements: Sequence[Statement] = (),
        managed: Sequence[str] = (),
    ) -> None:
        """Declare the role.

        Args:
            scope: What it belongs to.
            name: Name of this part in it.
            role_name: Name in AWS.
            boundary_arn: The most it may ever do; the deploy role makes no role without it.
            trust: Who takes it.
            statements: What it may do.
            managed: AWS's own policies it has besides, with their path, such as `service-role/X`.
        """
        super().__init__(scope, name)
        self._role = IamRole(
            self,
            "role",
            name=role_name,
            assume_role_policy=trust.document(),
            permissions_boundary=boundary_arn,
        )
        self.grants: list[ITerraformDependable] = [self._attach(policy) for policy in managed]
        if statements:
            self.grants.append(self._own_policy(role_name, statements))

    @property
    def arn(self) -> str:
        """ARN of the role. Who needs its permissions from the start also depends on `grants`."""
        return str(self._role.arn)

    def _attach(self, policy: str) -> IamRolePolicyAttachment:
        arn = f"arn:aws:iam::aws:policy/{policy}"
        part = policy.rpartition("/")[2]
        return IamRolePolicyAttachment(self, part, role=self._role.name, policy_arn=arn)

    def _own_policy(self, name: str, statements: Sequence[Statement]) -> IamRolePolicy:
        policy = IamRolePolicy(
            self, "policy", name=name, role=self._role.name, policy=policy_document(statements)
        )
        write_reasons(policy, statements)
        return policy
