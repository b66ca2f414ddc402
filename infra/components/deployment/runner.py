"""The runner of a side: GitHub's jobs that need its private Kubernetes API run in its VPC."""

from collections.abc import Sequence
from dataclasses import dataclass

from cdktf_cdktf_provider_aws.codebuild_project import (
    CodebuildProject,
    CodebuildProjectArtifacts,
    CodebuildProjectEnvironment,
    CodebuildProjectLogsConfig,
    CodebuildProjectLogsConfigCloudwatchLogs,
    CodebuildProjectSource,
    CodebuildProjectSourceAuth,
    CodebuildProjectVpcConfig,
)
from cdktf_cdktf_provider_aws.codebuild_webhook import (
    CodebuildWebhook,
    CodebuildWebhookFilterGroup,
    CodebuildWebhookFilterGroupFilter,
)
from cdktf_cdktf_provider_aws.data_aws_codestarconnections_connection import (
    DataAwsCodestarconnectionsConnection,
)
from constructs import Construct

from infra.aws.arns import Arns
from infra.aws.log_group import log_group
from infra.aws.policy import ANY, Statement
from infra.components.identity.role import Role, Trust

_IMAGE = "aws/codebuild/standard:7.0"
_MINUTES = 180
"""Longest job: a change of MSK's brokers takes more than an hour."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Where a runner is: its VPC, its subnets and its security group.

    Attributes:
        vpc_id: The side's VPC.
        subnet_ids: Private subnets with a way to the internet, one a zone.
        subnet_arns: ARNs of the same subnets.
        security_group_id: Security group of the runner's network interfaces.
    """

    vpc_id: str
    subnet_ids: Sequence[str]
    subnet_arns: Sequence[str]
    security_group_id: str


@dataclass(frozen=True, kw_only=True)
class GithubJobs:
    """The jobs that a runner takes.

    Attributes:
        repository: GitHub owner/name.
        connection_name: Connection to GitHub, which foundation declares and a person has confirmed.
        actors: Ids of the GitHub accounts that start them; none: any account.
    """

    repository: str
    connection_name: str
    actors: Sequence[int]


class Runner(Construct):
    """A CodeBuild project that GitHub starts for each job with `runs-on: codebuild-<name>-<run>`.

    It grants nothing itself: a job assumes the deploy role by OpenID Connect, as on any other runner.
    """

    def __init__(  # noqa: PLR0913 -- each a property of the runner
        self,
        scope: Construct,
        name: str,
        *,
        runner_name: str,
        jobs: GithubJobs,
        surroundings: Surroundings,
        arns: Arns,
        boundary_arn: str,
        log_key_arn: str,
        log_days: int,
    ) -> None:
        """Declare project, webhook, role and log group.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            runner_name: Name of the project.
            jobs: Which jobs it takes.
            surroundings: VPC, subnets and security group.
            arns: Builder of ARNs.
            boundary_arn: Permissions boundary of the role.
            log_key_arn: KMS key of the log group.
            log_days: Retention of the jobs' logs, days.
        """
        super().__init__(scope, name)
        connection = DataAwsCodestarconnectionsConnection(self, "connection", name=jobs.connection_name)
        logs = log_group(self, "logs", name=f"/hifi/{runner_name}", key_arn=log_key_arn, days=log_days)
        role = Role(
            self,
            "role",
            role_name=runner_name,
            boundary_arn=boundary_arn,
            trust=Trust(
                service="codebuild.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": arns.account}},
            ),
            statements=_statements(logs.arn, connection.arn, arns, surroundings.subnet_arns),
        )
        project = CodebuildProject(
            self,
            "project",
            name=runner_name,
            description="Runs GitHub's jobs inside the side's VPC",
            service_role=role.arn,
            build_timeout=_MINUTES,
            artifacts=CodebuildProjectArtifacts(type="NO_ARTIFACTS"),
            environment=_environment(),
            source=_source(jobs.repository, connection.arn),
            vpc_config=_inside(surroundings),
            logs_config=CodebuildProjectLogsConfig(
                cloudwatch_logs=CodebuildProjectLogsConfigCloudwatchLogs(group_name=logs.name)
            ),
            depends_on=role.grants,
        )
        CodebuildWebhook(self, "jobs", project_name=project.name, filter_group=[_queued_jobs(jobs.actors)])


def _inside(surroundings: Surroundings) -> CodebuildProjectVpcConfig:
    return CodebuildProjectVpcConfig(
        vpc_id=surroundings.vpc_id,
        subnets=list(surroundings.subnet_ids),
        security_group_ids=[surroundings.security_group_id],
    )


def _environment() -> CodebuildProjectEnvironment:
    return CodebuildProjectEnvironment(
        type="LINUX_CONTAINER",
        compute_type="BUILD_GENERAL1_SMALL",
        image=_IMAGE,
        image_pull_credentials_type="CODEBUILD",
    )


def _source(repository: str, connection_arn: str) -> CodebuildProjectSource:
    return CodebuildProjectSource(
        type="GITHUB",
        location=f"https://github.com/{repository}.git",
        auth=CodebuildProjectSourceAuth(type="CODECONNECTIONS", resource=connection_arn),
    )


def _queued_jobs(actors: Sequence[int]) -> CodebuildWebhookFilterGroup:
    """Queued jobs of these accounts: a pull request of anybody else may name the runner's label as well."""
    conditions = [("EVENT", "WORKFLOW_JOB_QUEUED")]
    if actors:
        conditions.append(("ACTOR_ACCOUNT_ID", f"^({'|'.join(map(str, actors))})$"))
    return CodebuildWebhookFilterGroup(
        filter=[CodebuildWebhookFilterGroupFilter(type=kind, pattern=text) for kind, text in conditions]
    )


def _statements(
    log_group_arn: str, connection_arn: str, arns: Arns, subnet_arns: Sequence[str]
) -> list[Statement]:
    return [
        Statement(
            sid="WriteLogs",
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            resources=[f"{log_group_arn}:*"],
        ),
        Statement(
            sid="UseConnection",
            actions=[
                "codestar-connections:GetConnection",
                "codestar-connections:GetConnectionToken",
                "codestar-connections:UseConnection",
            ],
            resources=[connection_arn],
        ),
        Statement(
            sid="LookAtNetwork",
            actions=[
                "ec2:DescribeDhcpOptions",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
            ],
            resources=[ANY],
            reason="these calls only describe, and IAM lets them name no resource",
        ),
        Statement(
            sid="MakeInterface",
            actions=["ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface"],
            resources=[arns.of("ec2", f"{kind}/*") for kind in ("network-interface", "security-group")]
            + list(subnet_arns),
        ),
        Statement(
            sid="LendInterfaceToCodebuild",
            actions=["ec2:CreateNetworkInterfacePermission"],
            resources=[arns.of("ec2", "network-interface/*")],
            conditions={
                "StringEquals": {"ec2:AuthorizedService": "codebuild.amazonaws.com"},
                "ArnEquals": {"ec2:Subnet": list(subnet_arns)},
            },
        ),
    ]
