"""Policies of GitHub's workflows: they may change the resources of the sides and of edge, and nothing else.

Statements are limited to region, account and name prefix as far as IAM allows; otherwise they give a reason.
"""

from collections.abc import Mapping, Sequence

from infra.aws.arns import bucket_arn
from infra.aws.policy import ANY, Statement
from infra.components.deployment import iam_actions as actions
from infra.components.deployment.cluster_statements import cluster_statements
from infra.components.deployment.role_statements import role_statements
from infra.components.deployment.traffic_statements import traffic_statements
from infra.components.identity.deployer_statements import leases, release_table
from infra.config import Environment
from infra.naming import PROJECT, Names, Side

Policies = Mapping[str, Sequence[Statement]]
_READ_AND_WRITE = ("kms:Decrypt", "kms:GenerateDataKey")


def plan_policies(environment: Environment) -> Policies:
    """Policies for planning a pull request: read settings, never data."""
    return {"read": [_describe(), _read_traffic(environment), *_read_state(environment)]}


def deploy_policies(environment: Environment, *, zone_arn: str) -> Policies:
    """Policies for a deployment, each below IAM's limit of 6,144 characters.

    Args:
        environment: Settings of the environment.
        zone_arn: ARN of the hosted zone; its records may be changed.
    """
    return {
        "read": [_describe(), _read_traffic(environment), *_read_state(environment)],
        "release": [
            *_write_state(environment),
            *_push_images(environment),
            *_publish_versions(environment),
            *_ask_the_deployer(environment),
        ],
        "network": _network(environment),
        "clusters": cluster_statements(environment),
        "roles": role_statements(environment),
        "traffic": traffic_statements(environment, zone_arn=zone_arn),
    }


def _describe() -> Statement:
    return Statement(
        sid="Describe",
        actions=actions.DESCRIBE,
        resources=[ANY],
        reason="a plan looks things up before it knows their ARN, and these actions read settings only",
    )


def _read_traffic(environment: Environment) -> Statement:
    """Read the two parameters that edge needs at each plan; the account's others may be secret."""
    names = environment.names
    parameters = (names.weights_parameter, names.closed_parameter)
    return Statement(
        sid="ReadTraffic",
        actions=["ssm:GetParameter"],
        resources=[environment.arns.of("ssm", f"parameter{each}") for each in parameters],
    )


def _state(names: Names) -> str:
    return bucket_arn(names.bucket("state"))


def _key(sid: str, environment: Environment, purpose: str, uses: Sequence[str]) -> Statement:
    return Statement(
        sid=sid,
        actions=uses,
        resources=[environment.arns.of("kms", "key/*")],
        conditions={
            "ForAnyValue:StringEquals": {"kms:ResourceAliases": environment.names.key_alias(purpose)}
        },
    )


def _read_state(environment: Environment) -> list[Statement]:
    state = _state(environment.names)
    return [
        Statement(
            sid="ReadState", actions=["s3:GetObject", "s3:ListBucket"], resources=[state, f"{state}/*"]
        ),
        _key("DecryptState", environment, "state", ["kms:Decrypt"]),
    ]


def _write_state(environment: Environment) -> list[Statement]:
    stacks = [*(side.value for side in Side), "edge"]
    # The second file is the lock beside the state.
    files = [f"{stack}.{end}" for stack in stacks for end in ("tfstate", "tfstate.tflock")]
    return [
        Statement(
            sid="WriteStatesButFoundations",
            actions=["s3:PutObject", "s3:DeleteObject"],
            resources=[f"{_state(environment.names)}/{file}" for file in files],
        ),
        _key("EncryptState", environment, "state", ["kms:Encrypt", "kms:GenerateDataKey"]),
    ]


def _push_images(environment: Environment) -> list[Statement]:
    return [
        Statement(
            sid="PushImages",
            actions=actions.PUSH_IMAGES,
            resources=[environment.arns.of("ecr", f"repository/{environment.names.prefix}/*")],
        ),
        Statement(
            sid="LogInToRegistry",
            actions=["ecr:GetAuthorizationToken"],
            resources=[ANY],
            reason="IAM knows no resource for this token, which opens only what other statements allow",
        ),
    ]


def _publish_versions(environment: Environment) -> list[Statement]:
    versions = bucket_arn(environment.names.bucket("versions"))
    return [
        Statement(
            sid="PublishVersions", actions=["s3:GetObject", "s3:PutObject"], resources=[f"{versions}/*"]
        ),
        _key("VersionsKey", environment, "images", _READ_AND_WRITE),
    ]


def _ask_the_deployer(environment: Environment) -> list[Statement]:
    """Allow what `hifi deploy` and its siblings do: write a request in the deployer's part of the table."""
    return [
        release_table(environment, "AskTheDeployer"),
        leases(environment, "SeeTheDeployer"),
        _key("TableKey", environment, "data", _READ_AND_WRITE),
    ]


def _network(environment: Environment) -> list[Statement]:
    everything = environment.arns.of("ec2", "*/*")
    return [
        Statement(sid="MakeNetwork", actions=actions.MAKE_NETWORK, resources=[everything]),
        # EC2 asks for it when it makes an endpoint with private names, whose zone is AWS's own.
        Statement(
            sid="NameEndpoints",
            actions=["route53:AssociateVPCWithHostedZone"],
            resources=["arn:aws:route53:::hostedzone/*"],
        ),
        Statement(
            sid="TagAsOurs",
            actions=["ec2:CreateTags"],
            resources=[everything],
            conditions={"StringEquals": {"aws:RequestTag/project": PROJECT}},
        ),
        Statement(
            sid="ChangeOurs",
            actions=actions.CHANGE_NETWORK,
            resources=[everything],
            conditions={"StringEquals": {"aws:ResourceTag/project": PROJECT}},
        ),
        Statement(
            sid="TryLaunchTemplates",
            actions=["ec2:RunInstances"],
            resources=[everything, f"arn:aws:ec2:{environment.region}::image/*"],
        ),
    ]
