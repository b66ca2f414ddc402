"""The deployer's permissions in AWS: move traffic, read versions, set positions, record how far it is."""

from collections.abc import Mapping

from infra.aws.arns import bucket_arn
from infra.aws.policy import Statement
from infra.components.kafka.access import KafkaAccess, named_kafka
from infra.config import Environment
from infra.naming import Side
from shared.contracts.control_table import ACTIVITIES, LEASES, RELEASES
from shared.contracts.topics import Topic
from shared.contracts.topology import INPUTS

_KAFKA = KafkaAccess(
    # Dead letters are counted; the others are read by the groups whose offsets it commits.
    reads=sorted({*(topic for each in INPUTS.values() for topic in each), Topic.DEAD_LETTER, Topic.REPLAYED}),
    describes=["*"],  # whether their replicas are in sync
    joins=[f"hifi.{node}" for node in INPUTS],
    # Readers that commit no offsets still name a group.
    watches=["*-unused"],
)


def deployer_statements(
    environment: Environment, *, zone_arn: str, key_arns: Mapping[str, str]
) -> list[Statement]:
    """The statements of an environment, none of which allows every resource.

    Args:
        environment: Settings of the environment.
        zone_arn: The hosted zone; the deployer changes its weighted records.
        key_arns: KMS keys by purpose: `data` and `images`.
    """
    return [
        *_traffic(environment, zone_arn),
        *_buckets(environment),
        *_table(environment),
        Statement(sid="Data", actions=["kms:Decrypt", "kms:GenerateDataKey"], resources=[key_arns["data"]]),
        Statement(sid="VersionsKey", actions=["kms:Decrypt"], resources=[key_arns["images"]]),
        *_clusters(environment),
        *_KAFKA.statements(*(named_kafka(environment.arns, each) for each in _prefixes(environment))),
    ]


def release_table(environment: Environment, sid: str) -> Statement:
    """Write requests, releases and activities, and read them; documents, tokens and people are out of reach.

    Args:
        environment: Settings of the environment.
        sid: Name of the statement.
    """
    partitions = [RELEASES, *(f"{ACTIVITIES}{side}" for side in Side)]
    return _items(environment, sid, partitions)


def leases(environment: Environment, sid: str) -> Statement:
    """Read who leads, and whether it lives.

    Args:
        environment: Settings of the environment.
        sid: Name of the statement.
    """
    return _of_table(environment, sid, ["dynamodb:GetItem"], [LEASES])


def _items(environment: Environment, sid: str, partitions: list[str]) -> Statement:
    actions = [f"dynamodb:{each}Item" for each in ("ConditionCheck", "Delete", "Get", "Put")]
    return _of_table(environment, sid, [*actions, "dynamodb:Query"], partitions)


def _of_table(environment: Environment, sid: str, actions: list[str], partitions: list[str]) -> Statement:
    return Statement(
        sid=sid,
        actions=actions,
        resources=[environment.arns.of("dynamodb", f"table/{environment.names.documents_table}")],
        conditions={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": partitions}},
    )


def _table(environment: Environment) -> list[Statement]:
    return [release_table(environment, "Releases"), _items(environment, "Lease", [LEASES])]


def _traffic(environment: Environment, zone_arn: str) -> list[Statement]:
    parameters = [environment.names.weights_parameter, environment.names.closed_parameter]
    weights, closed = (environment.arns.of("ssm", f"parameter{each}") for each in parameters)
    hosts = [environment.events_host, *environment.management_hosts]
    return [
        Statement(sid="Weights", actions=["ssm:GetParameter", "ssm:PutParameter"], resources=[weights]),
        Statement(sid="ClosedSides", actions=["ssm:GetParameter"], resources=[closed]),
        Statement(sid="Records", actions=["route53:ListResourceRecordSets"], resources=[zone_arn]),
        Statement(
            sid="MoveTraffic",
            actions=["route53:ChangeResourceRecordSets"],
            resources=[zone_arn],
            conditions={
                "ForAllValues:StringEquals": {
                    "route53:ChangeResourceRecordSetsActions": ["UPSERT"],
                    "route53:ChangeResourceRecordSetsNormalizedRecordNames": hosts,
                    "route53:ChangeResourceRecordSetsRecordTypes": ["A", "CNAME"],
                }
            },
        ),
        Statement(sid="InForce", actions=["route53:GetChange"], resources=["arn:aws:route53:::change/*"]),
    ]


def _buckets(environment: Environment) -> list[Statement]:
    """Without the right to list a bucket, S3 answers 403 for an object that is not there, not 404."""
    versions, checkpoints = (
        bucket_arn(environment.names.bucket(each)) for each in ("versions", "checkpoints")
    )
    return [
        Statement(sid="List", actions=["s3:ListBucket"], resources=[versions, checkpoints]),
        Statement(sid="Versions", actions=["s3:GetObject"], resources=[f"{versions}/*"]),
        Statement(
            sid="Checkpoints",
            actions=["s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
            resources=[f"{checkpoints}/{side}/*" for side in Side],
        ),
    ]


def _clusters(environment: Environment) -> list[Statement]:
    """Read what AWS itself is changing. Rights in Kubernetes come from the sides' access entries."""
    arns, prefixes = environment.arns, _prefixes(environment)
    return [
        Statement(
            sid="Kubernetes",
            actions=["eks:DescribeCluster", "eks:ListNodegroups"],
            resources=[arns.of("eks", f"cluster/{each}") for each in prefixes],
        ),
        Statement(
            sid="Nodes",
            actions=["eks:DescribeNodegroup"],
            resources=[arns.of("eks", f"nodegroup/{each}/*/*") for each in prefixes],
        ),
        Statement(
            sid="Brokers",
            actions=["kafka:DescribeClusterV2"],
            resources=[arns.of("kafka", f"cluster/{each}/*") for each in prefixes],
        ),
    ]


def _prefixes(environment: Environment) -> list[str]:
    return [environment.twin(side).names.prefix for side in Side]
