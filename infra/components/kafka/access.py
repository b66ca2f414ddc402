"""IAM statements for a pod's access to Kafka topics and consumer groups."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from infra.aws.arns import Arns
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
        watches: Groups of which it reads the offsets.
        transacts: Transactional ids that it writes with.
    """

    reads: Sequence[str] = ()
    writes: Sequence[str] = ()
    manages: Sequence[str] = ()
    describes: Sequence[str] = ()
    joins: Sequence[str] = ()
    watches: Sequence[str] = ()
    transacts: Sequence[str] = ()

    def statements(self, *clusters: KafkaArns) -> list[Statement]:
        """The access as IAM statements.

        Args:
            clusters: ARNs of the MSK clusters.
        """
        connect = ["Connect", "DescribeCluster", *(["WriteDataIdempotently"] if self.writes else [])]
        topics = partial(_joined, clusters, KafkaArns.of_topics)
        groups = partial(_joined, clusters, KafkaArns.of_groups)
        found = (
            _statement("KafkaConnect", connect, [each.cluster for each in clusters]),
            _statement("KafkaRead", ["DescribeTopic", "ReadData"], topics(self.reads)),
            _statement("KafkaWrite", ["DescribeTopic", "WriteData"], topics(self.writes)),
            _statement("KafkaManage", _MANAGE, topics(self.manages)),
            _statement("KafkaDescribe", ["DescribeTopic"], topics(self.describes)),
            _statement("KafkaJoin", ["AlterGroup", "DescribeGroup"], groups(self.joins)),
            _statement("KafkaWatch", ["DescribeGroup"], groups(self.watches)),
            _statement(
                "KafkaTransact",
                ["AlterTransactionalId", "DescribeTransactionalId"],
                _joined(clusters, KafkaArns.of_transactional_ids, self.transacts),
            ),
        )
        return [each for each in found if each.resources]


def named_kafka(arns: Arns, cluster: str) -> KafkaArns:
    """ARNs of an MSK cluster by its name, with `*` for the id that AWS gives it.

    Args:
        arns: Builder of ARNs.
        cluster: Name of the cluster.
    """
    kinds = ("cluster", "topic", "group", "transactional-id")
    found = [arns.of("kafka", f"{kind}/{cluster}/*") for kind in kinds]
    return KafkaArns(cluster=found[0], topics=found[1], groups=found[2], transactional_ids=found[3])


def _joined(
    clusters: Sequence[KafkaArns],
    of_cluster: Callable[[KafkaArns, Sequence[str]], list[str]],
    names: Sequence[str],
) -> list[str]:
    return [arn for each in clusters for arn in of_cluster(each, names)]


def _statement(sid: str, actions: Sequence[str], resources: Sequence[str]) -> Statement:
    return Statement(sid=sid, actions=[f"kafka-cluster:{each}" for each in actions], resources=resources)
