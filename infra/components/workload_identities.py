"""What each of hifi's own pods may do in AWS: its topics; for Spark its side's checkpoints and secrets."""

from dataclasses import dataclass

from infra.aws.policy import ANY, Statement
from infra.components.kafka_access import KafkaAccess, KafkaArns
from infra.components.pod_identities import PodIdentity
from shared.contracts.topics import RETRY_DELAYS, Topic

NAMESPACE = "hifi"

_WAITING = tuple(RETRY_DELAYS)
# Readers that keep no offsets name a group all the same, and librdkafka asks for its coordinator.
_NO_OFFSETS = ("*-unused",)
_ACCESS = {
    "collect": KafkaAccess(reads=[Topic.CONFIG], writes=[Topic.COLLECTED], watches=_NO_OFFSETS),
    "retry": KafkaAccess(reads=_WAITING, writes=[Topic.RETRY_OUT, Topic.QUARANTINE], joins=["hifi.retry"]),
    "observe": KafkaAccess(
        reads=[Topic.LEDGER, Topic.CONFIG, Topic.DEAD_LETTER, Topic.QUARANTINE],
        describes=list(Topic),
        joins=["hifi.observe"],
        watches=["hifi.*", *_NO_OFFSETS],
    ),
    # Master, workers and drivers: an executor reads and writes for whichever node's task it was given.
    "spark": KafkaAccess(
        reads=list(Topic),
        writes=[
            Topic.EVENTS,
            Topic.OUTBOUND,
            Topic.OUTBOUND_SLOW,
            Topic.RECEIPTS,
            *_WAITING,
            Topic.DEAD_LETTER,
            Topic.QUARANTINE,
            Topic.LEDGER,
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


def workload_identities(*, kafka: KafkaArns, checkpoints: Checkpoints, secrets_arn: str) -> list[PodIdentity]:
    """One identity a service account of hifi.

    Args:
        kafka: The side's MSK cluster.
        checkpoints: The side's checkpoints.
        secrets_arn: Pattern of the ARNs of the secrets that destinations of the side name.
    """
    return [
        PodIdentity(
            namespace=NAMESPACE,
            service_account=account,
            statements=[
                *access.statements(kafka),
                *([*checkpoints.statements(), *secret_statements(secrets_arn)] if account == "spark" else []),
            ],
        )
        for account, access in _ACCESS.items()
    ]
