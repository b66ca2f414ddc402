"""What each of hifi's own pods may do in AWS: its topics; for Spark its side's checkpoints and secrets."""

from dataclasses import dataclass

from infra.aws.policy import ANY, Statement
from infra.components.kafka_access import KafkaAccess, KafkaArns
from infra.components.pod_identities import PodIdentity
from shared.contracts.topics import RETRY_DELAYS, TALLIED, Topic

NAMESPACE = "hifi"

_WAITING = tuple(RETRY_DELAYS)
# Readers that keep no offsets name a group all the same, and librdkafka asks for its coordinator.
_NO_OFFSETS = ("*-unused",)
_ACCESS = {
    "collect": KafkaAccess(reads=[Topic.CONFIG], writes=[Topic.COLLECTED], watches=_NO_OFFSETS),
    "retry": KafkaAccess(reads=_WAITING, writes=[Topic.RETRY_OUT, Topic.QUARANTINE], joins=["hifi.retry"]),
    # It names lost events by reading the topics that they are missing in, or were last seen in.
    "observe": KafkaAccess(reads=list(Topic), watches=["hifi.*", *_NO_OFFSETS]),
    "audit": KafkaAccess(
        reads=[*TALLIED, Topic.LEDGER],
        writes=[Topic.LEDGER, Topic.TRACES],
        joins=["hifi.audit", "spark-kafka-*"],
        watches=_NO_OFFSETS,
    ),
    # Has pods only where a side has a receiver of spans.
    "trace": KafkaAccess(reads=[Topic.TRACES], joins=["hifi.trace"]),
    "canary": KafkaAccess(reads=[Topic.CONFIG], writes=[Topic.CONFIG], watches=_NO_OFFSETS),
    # Master, workers and drivers: an executor reads and writes for whichever node's task it was given.
    "spark": KafkaAccess(
        reads=list(Topic),
        writes=[
            Topic.EVENTS,
            Topic.UNMATCHED,
            Topic.OUTBOUND,
            Topic.OUTBOUND_SLOW,
            Topic.RECEIPTS,
            *_WAITING,
            Topic.DEAD_LETTER,
            Topic.QUARANTINE,
        ],
        joins=["hifi.*", "spark-kafka-*"],
        watches=_NO_OFFSETS,
    ),
    # The job of a deployment that makes the topics and brings the documents in.
    "topics": KafkaAccess(manages=list(Topic), writes=[Topic.CONFIG], reads=list(Topic), watches=_NO_OFFSETS),
}


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """Where a side's Spark queries keep their progress."""

    bucket: str
    folder: str
    key_arn: str

    def statements(self) -> list[Statement]:
        """Read, write and delete in the side's own folder of the bucket."""
        bucket = f"arn:aws:s3:::{self.bucket}"
        return [
            Statement(
                sid="CheckpointList",
                actions=["s3:ListBucket"],
                resources=[bucket],
                conditions={"StringLike": {"s3:prefix": [self.folder, f"{self.folder}/*"]}},
            ),
            Statement(
                sid="CheckpointFiles",
                actions=["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
                resources=[f"{bucket}/{self.folder}/*"],
            ),
            Statement(
                sid="CheckpointKey",
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=[self.key_arn],
            ),
        ]


@dataclass(frozen=True, kw_only=True)
class Scorecards:
    """Where a side's observe keeps what it knows, and whom it tells of alarms."""

    table_arn: str
    table_key_arn: str
    topic_arn: str
    topic_key_arn: str

    def statements(self) -> list[Statement]:
        """Read, write and delete in the side's own table; publish to its topic."""
        return [
            Statement(
                sid="Scorecards",
                actions=[
                    "dynamodb:BatchWriteItem",
                    "dynamodb:DeleteItem",
                    "dynamodb:GetItem",
                    "dynamodb:PutItem",
                    "dynamodb:Query",
                ],
                resources=[self.table_arn],
            ),
            Statement(
                sid="ScorecardsKey",
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=[self.table_key_arn, self.topic_key_arn],
            ),
            Statement(sid="Alarms", actions=["sns:Publish"], resources=[self.topic_arn]),
        ]


def secret_statements(secrets_arn: str) -> list[Statement]:
    """Read the secrets that destinations name; transmit asks for twenty at once."""
    return [
        Statement(
            sid="SecretsTogether",
            actions=["secretsmanager:BatchGetSecretValue"],
            resources=[ANY],
            reason="AWS knows no resource of it; each value needs GetSecretValue as well",
        ),
        Statement(sid="Secrets", actions=["secretsmanager:GetSecretValue"], resources=[secrets_arn]),
    ]


def workload_identities(
    *, kafka: KafkaArns, checkpoints: Checkpoints, scorecards: Scorecards, secrets_arn: str
) -> list[PodIdentity]:
    """One identity a service account of hifi.

    Args:
        kafka: The side's MSK cluster.
        checkpoints: The side's checkpoints.
        scorecards: The side's scorecards and alarms.
        secrets_arn: Pattern of the ARNs of the secrets that destinations of the side name.
    """
    beside = {
        "spark": [*checkpoints.statements(), *secret_statements(secrets_arn)],
        "audit": checkpoints.statements(),
        "observe": [*scorecards.statements(), *secret_statements(secrets_arn)],
    }
    return [
        PodIdentity(
            namespace=NAMESPACE,
            service_account=account,
            statements=[*access.statements(kafka), *beside.get(account, [])],
        )
        for account, access in _ACCESS.items()
    ]
