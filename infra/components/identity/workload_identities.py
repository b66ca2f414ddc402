"""Permissions of hifi's own pods in AWS: topics, checkpoints, scorecards and secrets."""

from dataclasses import dataclass

from infra.aws.arns import bucket_arn
from infra.aws.policy import Statement
from infra.components.identity.pod_identities import PodIdentity
from infra.components.identity.secret_access import batch_get_secrets, get_secrets
from infra.components.kafka.access import KafkaAccess, KafkaArns
from shared.contracts.topics import Topic
from shared.contracts.topology import INPUTS, OUTPUTS, READERS

NAMESPACE = "hifi"

# Readers that commit no offsets still name a group, and librdkafka looks up its coordinator.
_NO_OFFSETS = ("*-unused",)
_SPARK_NODES = ("ingest", "route", "transmit", "transmit_slow")
_ACCESS = {
    "collect": KafkaAccess(
        reads=[Topic.CONFIG],
        writes=[*OUTPUTS["collect"], Topic.HEARTBEATS, Topic.KEY_USAGE],
        watches=_NO_OFFSETS,
    ),
    "retry": KafkaAccess(reads=INPUTS["retry"], writes=OUTPUTS["retry"], joins=["hifi.retry"]),
    # It identifies lost events in the topics where they are missing or were last seen.
    "observe": KafkaAccess(reads=list(Topic), watches=["hifi.*", *_NO_OFFSETS]),
    "audit": KafkaAccess(
        reads=[*INPUTS["audit"], Topic.LEDGER],
        writes=OUTPUTS["audit"],
        joins=["hifi.audit", "spark-kafka-*"],
        watches=_NO_OFFSETS,
    ),
    # Runs only on a side that has a receiver of spans.
    "trace": KafkaAccess(reads=INPUTS["trace"], joins=["hifi.trace"]),
    "canary": KafkaAccess(reads=[Topic.CONFIG], writes=[Topic.CONFIG], watches=_NO_OFFSETS),
    "provision": KafkaAccess(
        reads=[Topic.CONFIG, Topic.HEARTBEATS, Topic.KEY_USAGE],
        writes=[Topic.CONFIG],
        watches=_NO_OFFSETS,
        transacts=["hifi-*-provision"],
    ),
    # Customers' dead letters with their replay, and live tails of their pipes.
    "api": KafkaAccess(
        reads=[Topic.OUTBOUND, Topic.DEAD_LETTER, Topic.REPLAYED],
        writes=[Topic.OUTBOUND, Topic.REPLAYED],
        watches=_NO_OFFSETS,
    ),
    # Master, workers and drivers: an executor runs tasks of every node of the chain.
    "spark": KafkaAccess(
        reads=list(Topic),
        writes=[
            *(topic for topic in Topic if any(topic in OUTPUTS[node] for node in _SPARK_NODES)),
            Topic.HEARTBEATS,
        ],
        joins=["hifi.*", "spark-kafka-*"],
        watches=_NO_OFFSETS,
    ),
    # A version that is asked what it reads of what others wrote.
    "readability": KafkaAccess(reads=[*map(Topic, READERS), Topic.CONFIG], watches=_NO_OFFSETS),
    # The job of a deployment that creates the topics.
    "topics": KafkaAccess(manages=list(Topic), reads=list(Topic), watches=_NO_OFFSETS),
}


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """Where a side's Spark queries keep their checkpoints."""

    bucket: str
    folder: str
    key_arn: str

    def statements(self) -> list[Statement]:
        """Read, write and delete in the side's own folder of the bucket."""
        bucket = bucket_arn(self.bucket)
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
    """Where a side's observe keeps its scorecards, and the topic that it sends alarms to."""

    table_arn: str
    table_key_arn: str
    topic_arn: str
    topic_key_arn: str

    def statements(self) -> list[Statement]:
        """Read, write and delete in the side's own table; publish to its topic."""
        return [
            Statement(
                sid="Scorecards",
                # BatchWriteItem is for versions before the fence, which a side may go back to.
                actions=[
                    "dynamodb:BatchWriteItem",
                    "dynamodb:ConditionCheckItem",
                    "dynamodb:DeleteItem",
                    "dynamodb:GetItem",
                    "dynamodb:PutItem",
                    "dynamodb:Query",
                    "dynamodb:UpdateItem",
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


@dataclass(frozen=True, kw_only=True)
class DocumentTable:
    """The customers' documents, which the API writes and the provisioner publishes on its side."""

    table_arn: str
    key_arn: str

    def statements(self) -> list[Statement]:
        """Read and write documents, and what stands beside them: tokens, status, the lease."""
        return [
            Statement(
                sid="Documents",
                actions=[
                    "dynamodb:BatchGetItem",
                    "dynamodb:DeleteItem",
                    "dynamodb:GetItem",
                    "dynamodb:PutItem",
                    "dynamodb:Query",
                    "dynamodb:UpdateItem",
                ],
                resources=[self.table_arn],
            ),
            Statement(
                sid="DocumentsKey",
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=[self.key_arn],
            ),
        ]

    def acting(self) -> list[Statement]:
        """`statements`, and condition writes on still holding an activity in a side's register."""
        condition = Statement(
            sid="Steps", actions=["dynamodb:ConditionCheckItem"], resources=[self.table_arn]
        )
        return [*self.statements(), condition]

    def reading(self) -> list[Statement]:
        """Read the register of activities, which is beside the documents."""
        return [
            Statement(
                sid="Activities",
                actions=["dynamodb:GetItem", "dynamodb:Query"],
                resources=[self.table_arn],
            ),
            Statement(sid="ActivitiesKey", actions=["kms:Decrypt"], resources=[self.key_arn]),
        ]


def secret_statements(secrets_arn: str) -> list[Statement]:
    """Read the secrets that destinations name; transmit requests twenty at once."""
    return [batch_get_secrets("SecretsTogether"), get_secrets("Secrets", secrets_arn)]


def workload_identities(
    *,
    kafka: KafkaArns,
    checkpoints: Checkpoints,
    scorecards: Scorecards,
    documents: DocumentTable,
    secrets_arn: str,
) -> list[PodIdentity]:
    """The identities of hifi's service accounts.

    Args:
        kafka: The side's MSK cluster.
        checkpoints: The side's checkpoints.
        scorecards: The side's scorecards and alarms.
        documents: The customers' documents.
        secrets_arn: Pattern of the ARNs of the secrets that the side's destinations name.
    """
    other_statements = {
        "spark": [*checkpoints.statements(), *secret_statements(secrets_arn)],
        "audit": checkpoints.statements(),
        "provision": documents.acting(),
        "api": documents.statements(),
        "observe": [*scorecards.statements(), *documents.reading(), *secret_statements(secrets_arn)],
    }
    return [
        PodIdentity(
            namespace=NAMESPACE,
            service_account=account,
            statements=[
                *(_ACCESS[account].statements(kafka) if account in _ACCESS else ()),
                *other_statements.get(account, ()),
            ],
        )
        for account in dict.fromkeys([*_ACCESS, *other_statements])
    ]
