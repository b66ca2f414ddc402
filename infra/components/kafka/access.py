"""IAM statements for a pod's access to Kafka topics and consumer groups."""

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
    """ARNs of an MSK cluster; they may be references that are resolved when the cluster exists.

    Attributes:
        cluster: ARN of the cluster.
        topics: Start of the ARNs of its topics.
        groups: Start of the ARNs of its consumer groups.
        transactional_ids: Start of the ARNs of its producers' transactional ids.
    """

    cluster: str
    topics: str
    groups: str
    transactional_ids: str

    def of_topics(self, names: Sequence[str]) -> list[str]:
        """ARNs of topics."""
        return [f"{self.topics}/{name}" for name in names]

    def of_groups(self, names: Sequence[str]) -> list[str]:
        """ARNs of consumer groups."""
        return [f"{self.groups}/{name}" for name in names]

    def of_transactional_ids(self, names: Sequence[str]) -> list[str]:
        """ARNs of transactional ids."""
        return [f"{self.transactional_ids}/{name}" for name in names]


@dataclass(frozen=True, kw_only=True)
class KafkaAccess:
    """The topics and consumer groups that a pod uses, by name; a group's name may contain `*`.

    Attributes:
        reads: Topics that it reads.
        writes: Topics that it writes.
        manages: Topics that it creates and configures.
        describes: Topics of which it reads the end offsets, but no record.
        joins: Groups in which it commits offsets.
        watches: Groups whose offsets it reads.
        transacts: Transactional ids that it writes with.
    """

    reads: Sequence[str] = ()
    writes: Sequence[str] = ()
    manages: Sequence[str] = ()
    describes: Sequence[str] = ()
    joins: Sequence[str] = ()
    watches: Sequence[str] = ()
    transacts: Sequence[str] = ()

    def statements(self, kafka: KafkaArns) -> list[Statement]:
        """The access as IAM statements.

        Args:
            kafka: ARNs of the MSK cluster.
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
            _statement(
                "KafkaTransact",
                ["AlterTransactionalId", "DescribeTransactionalId"],
                kafka.of_transactional_ids(self.transacts),
            ),
        )
        return [each for each in found if each.resources]


def _statement(sid: str, actions: Sequence[str], resources: Sequence[str]) -> Statement:
    return Statement(sid=sid, actions=[f"kafka-cluster:{each}" for each in actions], resources=resources)
