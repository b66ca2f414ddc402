"""What GitHub's workflows may do: change what the sides and edge are made of, and nothing of another name.

Resources are bound to region, account and name prefix as far as IAM can; where it cannot, a reason says why.
"""

from collections.abc import Mapping, Sequence

from infra.aws.policy import ANY, Statement
from infra.components import deploy_actions as actions
from infra.components.deploy_clusters import cluster_statements
from infra.components.deploy_traffic import traffic_statements
from infra.config import Environment
from infra.naming import PROJECT, Names, Side

Policies = Mapping[str, Sequence[Statement]]

_PASSED_TO = (
    "ec2.amazonaws.com",
    "eks.amazonaws.com",
    "pods.eks.amazonaws.com",
    "vpc-flow-logs.amazonaws.com",
)
_WITH_OWN_ROLE = (
    "autoscaling.amazonaws.com",
    "eks-nodegroup.amazonaws.com",
    "eks.amazonaws.com",
    "elasticloadbalancing.amazonaws.com",
    "kafka.amazonaws.com",
    "kafka.application-autoscaling.amazonaws.com",
    "spot.amazonaws.com",
)


def plan_policies(environment: Environment) -> Policies:
    """What a pull request's plan may do: read how things are set up, never what they hold."""
    return {"read": [_describe(), *_read_state(environment)]}


def deploy_policies(environment: Environment, *, zone_arn: str) -> Policies:
    """What a deployment may do, in policies that each stay below IAM's 6,144 characters.

    Args:
        environment: Settings of the environment.
        zone_arn: The hosted zone whose records may be changed.
    """
    return {
        "read": [_describe(), *_read_state(environment)],
        "release": [*_write_state(environment), *_push_images(environment)],
        "network": _network(environment),
        "clusters": cluster_statements(environment),
        "roles": _roles(environment),
        "traffic": traffic_statements(environment, zone_arn=zone_arn),
    }


def _describe() -> Statement:
    return Statement(
        sid="Describe",
        actions=actions.DESCRIBE,
        resources=[ANY],
        reason="a plan looks things up before it knows their ARN, and these actions read settings only",
    )


def _state(names: Names) -> str:
    return f"arn:aws:s3:::{names.bucket('state')}"


def _state_key(sid: str, environment: Environment, uses: Sequence[str]) -> Statement:
    return Statement(
        sid=sid,
        actions=uses,
        resources=[environment.arns.of("kms", "key/*")],
        conditions={
            "ForAnyValue:StringEquals": {"kms:ResourceAliases": environment.names.key_alias("state")}
        },
    )


def _read_state(environment: Environment) -> list[Statement]:
    state = _state(environment.names)
    return [
        Statement(
            sid="ReadState", actions=["s3:GetObject", "s3:ListBucket"], resources=[state, f"{state}/*"]
        ),
        _state_key("DecryptState", environment, ["kms:Decrypt"]),
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
        _state_key("EncryptState", environment, ["kms:Encrypt", "kms:GenerateDataKey"]),
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


def _network(environment: Environment) -> list[Statement]:
    everything = environment.arns.of("ec2", "*/*")
    return [
        Statement(sid="MakeNetwork", actions=actions.MAKE_NETWORK, resources=[everything]),
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


def _roles(environment: Environment) -> list[Statement]:
    # The roles of sides only: a deployment cannot widen itself, nor the plan's role.
    ours = [environment.arns.iam(f"role/{environment.names.prefix}-{side}-*") for side in Side]
    return [
        Statement(
            sid="WidenWithinTheBoundary",
            actions=actions.WIDEN_ROLES,
            resources=ours,
            conditions={"StringEquals": {"iam:PermissionsBoundary": environment.names.boundary_arn}},
        ),
        Statement(sid="ChangeRoles", actions=actions.CHANGE_ROLES, resources=ours),
        Statement(
            sid="HandRolesToServices",
            actions=["iam:PassRole"],
            resources=ours,
            conditions={"StringEquals": {"iam:PassedToService": list(_PASSED_TO)}},
        ),
        Statement(
            sid="RolesOfServices",
            actions=["iam:CreateServiceLinkedRole"],
            resources=[environment.arns.iam("role/aws-service-role/*")],
            conditions={"StringEquals": {"iam:AWSServiceName": list(_WITH_OWN_ROLE)}},
        ),
    ]
