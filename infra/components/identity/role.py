"""An IAM role that an AWS service assumes, with its policies."""

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
    """The AWS service that may assume a role.

    Attributes:
        service: DNS name of the service, such as `ec2.amazonaws.com`.
        actions: STS actions that it calls to assume the role.
        conditions: Conditions of the trust, as in `Statement`.
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
    """A role with its own policy and AWS managed policies."""

    def __init__(  # noqa: PLR0913 -- each a property of a role
        self,
        scope: Construct,
        name: str,
        *,
        role_name: str,
        boundary_arn: str | None,
        trust: Trust,
        statements: Sequence[Statement] = (),
        managed: Sequence[str] = (),
    ) -> None:
        """Declare the role.

        Args:
            scope: The construct that it belongs to.
            name: Construct id in it.
            role_name: Name in AWS.
            boundary_arn: Permissions boundary, without which the deploy role may not create it; None: none.
            trust: The service that may assume it.
            statements: Statements of its own policy.
            managed: AWS managed policies that it also has, with their path, such as `service-role/X`.
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
        """ARN of the role. A resource that needs its permissions at once must also depend on `grants`."""
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
