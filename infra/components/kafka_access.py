"""What a pod may do with Kafka, as IAM statements."""

from collections.abc import Sequence
from dataclasses import dataclass

from infra.aws.policy import Statement

_MANAGE = (
    "AlterTopic",
    "AlterTopicDynamicConfiguration",
    "CreateTopic",
    "DescribeTopic",
    "DescribeTopicDynamicConfiguration",
)


@dataclass(frozen=True, kw_only=True)
class KafkaArns:
    """Of an MSK cluster; may be known only once it exists.

    Attributes:
        cluster: ARN of the cluster.
        topics: What the ARN of its topics starts with.
        groups: What the ARN of its consumer groups starts with.
    """

    cluster: str
    topics: str
    groups: str

    def of_topics(self, names: Sequence[str]) -> list[str]:
        """ARNs of topics."""
        return [f"{self.topics}/{name}" for name in names]

    def of_groups(self, names: Sequence[str]) -> list[str]:
        """ARNs of consumer groups."""
        return [f"{self.groups}/{name}" for name in names]


@dataclass(frozen=True, kw_only=True)
class KafkaAccess:
    """Topics and consumer groups, by name; the name of a group may hold `*`.

    Attributes:
        reads: Topics it reads.
        writes: Topics it writes.
        manages: Topics it makes and configures.
        describes: Topics whose ends it looks at, and no record.
        joins: Groups in which it commits.
        watches: Groups it looks at.
    """

    reads: Sequence[str] = ()
    writes: Sequence[str] = ()
    manages: Sequence[str] = ()
    describes: Sequence[str] = ()
    joins: Sequence[str] = ()
    watches: Sequence[str] = ()

    def statements(self, kafka: KafkaArns) -> list[Statement]:
        """The access as statements.

        Args:
            kafka: The MSK cluster and what it holds.
        """
        connect = ["Connect", "DescribeCluster", *(["WriteDataIdempotently"] if self.writes else [])]
        found = (
            _statement("KafkaConnect", connect, [kafka.cluster]),
            _statement("KafkaRead", ["DescribeTopic", "ReadData"], kafka.of_topics(self.reads)),
            _statement("KafkaWrite", ["DescribeTopic", "WriteData"], kafka.of_topics(self.writes)),
            _statement("KafkaManage", _MANAGE, kafka.of_topics(self.manages)),
            _statement("KafkaDescribe", ["DescribeTopic"], kafka.of_topics(self.describes)),
            _statement("KafkaJoin", ["AlterGroup", "DescribeGroup"], kafka.of_groups(self.joins)),
            _statement("KafkaWatch", ["DescribeGroup"], kafka.of_groups(self.watches)),
        )
        return [each for each in found if each.resources]


def _statement(sid: str, actions: Sequence[str], resources: Sequence[str]) -> Statement:
    return Statement(sid=sid, actions=[f"kafka-cluster:{each}" for each in actions], resources=resources)
