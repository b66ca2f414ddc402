"""The stack of one side: network, Kafka, Kubernetes. Blue and green are two instances of it."""

from constructs import Construct

from infra.aws.alarm import AlarmTopic
from infra.components.deployment.runner import GithubJobs, Runner, Surroundings
from infra.components.encryption.key_lookup import KeyLookup
from infra.components.kafka.alarms import KafkaAlarms
from infra.components.kafka.cluster import Kafka
from infra.components.kafka.volume_scaling import KafkaStorage
from infra.components.kubernetes.cluster import Cluster
from infra.config import Environment
from infra.naming import Side
from infra.stacks.base import Stack
from infra.stacks.twin_context import TwinContext
from infra.stacks.twin_entrances import declare_entrances
from infra.stacks.twin_network import TwinNetwork, declare_network
from infra.stacks.twin_pods import declare_pods


class TwinStack(Stack):
    """A whole side. It refers to no other stack: it looks up resources of foundation by name."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, side: Side) -> None:
        """Wire the side's parts.

        Args:
            scope: The app.
            name: Name of the stack.
            environment: Settings of the environment.
            side: Blue or green.
        """
        super().__init__(scope, name, environment=environment)
        context = self._context(side)
        network = declare_network(context)
        entrances = declare_entrances(context, network)
        kafka = _declare_kafka(context, network)
        cluster = _declare_cluster(context, network)
        network.groups.open_api_to_runner(cluster.security_group_id)
        _declare_runner(context, network)
        declare_pods(context, cluster=cluster, network=network, kafka=kafka.arns, entrances=entrances)

    def _context(self, side: Side) -> TwinContext:
        environment, twin = self.environment, self.environment.twin(side)
        keys = KeyLookup(self, "keys", names=environment.names)
        topic = AlarmTopic(
            self,
            "alarms",
            topic_name=twin.names.alarm_topic,
            key_arn=keys.logs,
            subscribers=environment.alarm_subscribers,
        )
        return TwinContext(
            stack=self, environment=environment, twin=twin, keys=keys, alarm_topic_arn=topic.arn
        )


def _declare_runner(context: TwinContext, network: TwinNetwork) -> None:
    """The runner of GitHub's jobs that need the private Kubernetes API."""
    environment, vpc = context.environment, network.vpc
    Runner(
        context.stack,
        "runner",
        runner_name=context.twin.names.runner,
        jobs=GithubJobs(
            repository=environment.repository,
            connection_name=environment.names.github_connection,
            actors=environment.release_actors,
        ),
        surroundings=Surroundings(
            vpc_id=vpc.vpc_id,
            subnet_ids=vpc.subnet_ids,
            subnet_arns=vpc.subnet_arns,
            security_group_id=network.groups.runner.id,
        ),
        arns=environment.arns,
        boundary_arn=context.boundary_arn,
        log_key_arn=context.keys.logs,
        log_days=environment.cluster.log_days,
    )


def _declare_kafka(context: TwinContext, network: TwinNetwork) -> Kafka:
    settings = context.environment.kafka
    kafka = Kafka(
        context.stack,
        "kafka",
        prefix=context.prefix,
        settings=settings,
        subnet_ids=network.vpc.subnet_ids,
        security_group=network.groups.brokers,
        key_arn=context.keys.kafka,
        log_key_arn=context.keys.logs,
        prevent_destroy=context.environment.protected,
    )
    KafkaStorage(
        context.stack,
        "kafka-storage",
        prefix=context.prefix,
        cluster_arn=kafka.arns.cluster,
        limit_gib=settings.volume_limit_gib,
    )
    KafkaAlarms(
        context.stack,
        "kafka-alarms",
        cluster_name=context.prefix,
        brokers=settings.brokers,
        topic_arn=context.alarm_topic_arn,
    )
    return kafka


def _declare_cluster(context: TwinContext, network: TwinNetwork) -> Cluster:
    return Cluster(
        context.stack,
        "cluster",
        prefix=context.prefix,
        settings=context.environment.cluster,
        boundary_arn=context.boundary_arn,
        subnet_ids=network.vpc.subnet_ids,
        key_arn=context.keys.cluster,
        log_key_arn=context.keys.logs,
    )
