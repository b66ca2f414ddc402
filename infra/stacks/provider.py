"""The AWS provider of a stack: account, region, tags and, in `local`, the endpoint."""

from cdktf import TerraformStack
from cdktf_cdktf_provider_aws.provider import (
    AwsProvider,
    AwsProviderDefaultTags,
    AwsProviderEndpoints,
)

from infra.config import Environment

# Every AWS service that the stacks use. In `local`, a service missing here would be called in the real AWS.
_SERVICES = (
    "acm",
    "appautoscaling",
    "autoscaling",
    "budgets",
    "cloudwatch",
    "codebuild",
    "codestarconnections",
    "dynamodb",
    "ec2",
    "ecr",
    "eks",
    "elbv2",
    "iam",
    "kafka",
    "kms",
    "logs",
    "route53",
    "s3",
    "secretsmanager",
    "sns",
    "ssm",
    "sts",
)


def configure_provider(
    stack: TerraformStack, environment: Environment, *, tags: dict[str, str]
) -> AwsProvider:
    """Declare the AWS provider of a stack.

    Args:
        stack: The stack that uses it.
        environment: Region, account and, for `local`, the endpoint.
        tags: Tags of every resource of the stack.
    """
    default_tags = [AwsProviderDefaultTags(tags=tags)]
    if environment.endpoint is None:
        return AwsProvider(
            stack,
            "aws",
            region=environment.region,
            allowed_account_ids=[environment.account],
            default_tags=default_tags,
        )
    return AwsProvider(
        stack,
        "aws",
        region=environment.region,
        access_key="test",
        secret_key="test",  # noqa: S106 -- local endpoints accept any; it protects nothing
        default_tags=default_tags,
        endpoints=[AwsProviderEndpoints(**dict.fromkeys(_SERVICES, environment.endpoint))],
        s3_use_path_style=True,
        skip_credentials_validation=True,
        skip_metadata_api_check="true",
        skip_requesting_account_id=False,
        skip_region_validation=True,
    )
