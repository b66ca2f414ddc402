"""Roles of GitHub's workflows, which assume them by OpenID Connect, without any stored secret."""

from cdktf_cdktf_provider_aws.iam_openid_connect_provider import IamOpenidConnectProvider
from cdktf_cdktf_provider_aws.iam_policy import IamPolicy
from cdktf_cdktf_provider_aws.iam_role import IamRole
from cdktf_cdktf_provider_aws.iam_role_policy_attachment import IamRolePolicyAttachment
from constructs import Construct

from infra.aws.policy import Statement, policy_document, write_reasons
from infra.components.deployment.policies import Policies, deploy_policies, plan_policies
from infra.config import Environment

_ISSUER = "token.actions.githubusercontent.com"
_AUDIENCE = "sts.amazonaws.com"
_SESSION_S = 3 * 3600  # Creating an MSK cluster takes up to an hour, and so does changing its brokers.


class DeployRoles(Construct):
    """GitHub's identity provider and two roles: one plans pull requests, one deploys.

    Neither may change foundation, and so neither can change itself: a person deploys foundation.
    """

    def __init__(self, scope: Construct, name: str, *, environment: Environment, zone_arn: str) -> None:
        """Declare provider and roles.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
            zone_arn: ARN of the hosted zone; its records may be changed.
        """
        super().__init__(scope, name)
        self._environment = environment
        self._provider = IamOpenidConnectProvider(
            self, "github", url=f"https://{_ISSUER}", client_id_list=[_AUDIENCE]
        )
        names, repository = environment.names, _signed_name(environment)
        # Only people who may push branches get here: GitHub gives pull requests from forks no token.
        plan = self._role(names.plan_role, f"repo:{repository}:pull_request")
        deploy = self._role(names.deploy_role, f"repo:{repository}:environment:{environment.name}")
        self._attach(plan, names.plan_role, plan_policies(environment))
        self._attach(deploy, names.deploy_role, deploy_policies(environment, zone_arn=zone_arn))

    def _role(self, name: str, subject: str) -> IamRole:
        trust = Statement(
            sid="GitHub",
            actions=["sts:AssumeRoleWithWebIdentity"],
            principals={"Federated": self._provider.arn},
            conditions={"StringEquals": {f"{_ISSUER}:aud": _AUDIENCE, f"{_ISSUER}:sub": subject}},
        )
        return IamRole(
            self,
            name,
            name=name,
            description=f"GitHub: {subject}",
            assume_role_policy=policy_document([trust]),
            max_session_duration=_SESSION_S,
        )

    def _attach(self, role: IamRole, name: str, policies: Policies) -> None:
        for topic, statements in policies.items():
            policy = IamPolicy(
                self,
                f"{name}-{topic}",
                name=f"{name}-{topic}",
                description=f"What {name} may do: {topic}",
                policy=policy_document(statements),
            )
            write_reasons(policy, statements)
            IamRolePolicyAttachment(self, f"{name}-{topic}-attachment", role=role.name, policy_arn=policy.arn)


def _signed_name(environment: Environment) -> str:
    """The repository as the subjects of GitHub's tokens name it.

    Source: GitHub's changelog of 2026-04-23, "Immutable subject claims for GitHub Actions OIDC tokens".
    """
    if environment.repository_ids is None:
        return environment.repository
    owner, name = environment.repository.split("/")
    return f"{owner}@{environment.repository_ids.owner}/{name}@{environment.repository_ids.repository}"
