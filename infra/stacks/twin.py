"""The stack of one side: network, Kafka, Kubernetes. Blue and green are two instances of it."""

from constructs import Construct

from infra.aws.alarm import AlarmTopic
from infra.aws.log_group import log_group
from infra.components.deployment.runner import GithubJobs, Runner, Surroundings
from infra.components.encryption.key_lookup import KeyLookup
from infra.components.identity.addon_identities import AddonResources, addon_identities
from infra.components.identity.pod_identities import ClusterContext, PodIdentities
from infra.components.identity.workload_identities import (
    Checkpoints,
    DocumentTable,
    Scorecards,
    workload_identities,
)
from infra.components.kafka.alarms import KafkaAlarms
from infra.components.kafka.cluster import Kafka
from infra.components.kafka.volume_scaling import KafkaStorage
from infra.components.kubernetes.access import ClusterAccess
from infra.components.kubernetes.alarms import ClusterAlarms
from infra.components.kubernetes.cluster import Cluster
from infra.components.kubernetes.helm_charts import charts
from infra.components.kubernetes.helm_releases import HelmReleases
from infra.components.kubernetes.managed_addons import AfterNodes, BeforeNodes
from infra.components.kubernetes.node_groups import NodeGroups, ZoneSubnet
from infra.components.kubernetes.node_pools import pools
from infra.components.network.alarms import BalancerAlarms
from infra.components.network.flow_logs import FlowLogs
from infra.components.network.ingress import Ingress
from infra.components.network.privatelink import PrivateLink
from infra.components.network.security_groups import SecurityGroups
from infra.components.network.vpc import Network
from infra.components.network.vpc_endpoints import VpcEndpoints
from infra.config import Environment, Exposure
from infra.naming import Side
from infra.stacks.base import Stack


class TwinStack(Stack):
    """A whole side. It refers to no other stack: it looks up resources of foundation by name."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment, side: Side) -> None:
        """Wire the side's components.

        Args:
            scope: The app.
            name: Name of the stack.
            environment: Settings of the environment.
            side: Blue or green.
        """
        super().__init__(scope, name, environment=environment)
        self._twin = environment.twin(side)
        self._prefix = self._twin.names.prefix
        self._boundary = environment.boundary_arn
        self._keys = KeyLookup(self, "keys", names=environment.names)
        self._network = self._declare_network()
        self._groups = SecurityGroups(
            self,
            "security",
            prefix=self._prefix,
            vpc_id=self._network.vpc_id,
            client_ranges=environment.network.client_ranges,
            nat_addresses=self._network.nat_addresses if self._is_public else [],
        )
        self._declare_network_services()
        self._topic_arn = self._declare_alarm_topic()
        self._ingress = self._declare_ingress()
        self._kafka = self._declare_kafka()
        self._cluster = self._declare_cluster()
        self._groups.open_api_to_runner(self._cluster.security_group_id)
        self._declare_runner()
        self._declare_pods()

    @property
    def _is_public(self) -> bool:
        return self.environment.exposure is Exposure.INTERNET

    def _declare_network(self) -> Network:
        return Network(
            self,
            "network",
            prefix=self._prefix,
            cidr=self._twin.cidr,
            region=self.environment.region,
            settings=self.environment.network,
        )

    def _declare_network_services(self) -> None:
        """Endpoints and flow logs of the network."""
        settings = self.environment.network
        VpcEndpoints(
            self,
            "endpoints",
            prefix=self._prefix,
            region=self.environment.region,
            network=self._network,
            security_group=self._groups.endpoints,
            interfaces=settings.interface_endpoints,
        )
        FlowLogs(
            self,
            "flows",
            prefix=self._prefix,
            account=self.environment.account,
            boundary_arn=self._boundary,
            vpc_id=self._network.vpc_id,
            key_arn=self._keys.logs,
            days=settings.flow_log_days,
        )

    def _declare_alarm_topic(self) -> str:
        """The topic that every alarm of the side notifies; returns its ARN."""
        topic = AlarmTopic(
            self,
            "alarms",
            topic_name=self._twin.names.alarm_topic,
            key_arn=self._keys.logs,
            subscribers=self.environment.alarm_subscribers,
        )
        return topic.arn

    def _declare_ingress(self) -> Ingress:
        network, names = self._network, self._twin.names
        ingress = Ingress(
            self,
            "ingress",
            balancer_name=names.load_balancer,
            domain=self.environment.events_host,
            vpc_id=self._network.vpc_id,
            subnet_ids=network.public_subnet_ids if self._is_public else network.subnet_ids,
            security_group=self._groups.balancer,
            exposure=self.environment.exposure,
            deletion_protection=self.environment.protected,
        )
        BalancerAlarms(
            self,
            "ingress-alarms",
            prefix=self._prefix,
            balancer=ingress.balancer_suffix,
            targets=ingress.target_group_suffix,
            topic_arn=self._topic_arn,
        )
        if not self._is_public:
            PrivateLink(
                self,
                "privatelink",
                service_name=names.load_balancer,
                balancer_arn=ingress.balancer_arn,
                principals=self.environment.privatelink_principals,
                host=self.environment.side_host(self._twin.side),
                domain=self.environment.domain,
            )
        return ingress

    def _declare_runner(self) -> None:
        """The runner of GitHub's jobs that need the private Kubernetes API."""
        Runner(
            self,
            "runner",
            runner_name=self._twin.names.runner,
            jobs=GithubJobs(
                repository=self.environment.repository,
                connection_name=self.environment.names.github_connection,
                actors=self.environment.release_actors,
            ),
            surroundings=Surroundings(
                vpc_id=self._network.vpc_id,
                subnet_ids=self._network.subnet_ids,
                subnet_arns=self._network.subnet_arns,
                security_group_id=self._groups.runner.id,
            ),
            arns=self.environment.arns,
            boundary_arn=self._boundary,
            log_key_arn=self._keys.logs,
            log_days=self.environment.cluster.log_days,
        )

    def _declare_kafka(self) -> Kafka:
        settings = self.environment.kafka
        kafka = Kafka(
            self,
            "kafka",
            prefix=self._prefix,
            settings=settings,
            subnet_ids=self._network.subnet_ids,
            security_group=self._groups.brokers,
            key_arn=self._keys.kafka,
            log_key_arn=self._keys.logs,
            prevent_destroy=self.environment.protected,
        )
        KafkaStorage(
            self,
            "kafka-storage",
            prefix=self._prefix,
            cluster_arn=kafka.arns.cluster,
            limit_gib=settings.volume_limit_gib,
        )
        KafkaAlarms(
            self,
            "kafka-alarms",
            cluster_name=self._prefix,
            brokers=settings.brokers,
            topic_arn=self._topic_arn,
        )
        return kafka

    def _declare_cluster(self) -> Cluster:
        return Cluster(
            self,
            "cluster",
            prefix=self._prefix,
            settings=self.environment.cluster,
            boundary_arn=self._boundary,
            subnet_ids=self._network.subnet_ids,
            key_arn=self._keys.cluster,
            log_key_arn=self._keys.logs,
        )

    def _declare_pods(self) -> None:
        """Everything that pods need, in order: plug-ins, nodes, DNS, permissions, add-ons."""
        access = ClusterAccess(
            self,
            "access",
            cluster_name=self._cluster.name,
            administrators=[
                self.environment.arns.iam(f"role/{self.environment.names.deploy_role}"),
                *self.environment.cluster.administrators,
            ],
        )
        context = ClusterContext(
            prefix=self._prefix, cluster_name=self._cluster.name, boundary_arn=self._boundary
        )
        versions = self.environment.cluster.addons.by_name()
        before = BeforeNodes(self, "before-nodes", cluster=context, versions=versions)
        nodes = self._declare_nodes(context, before)
        after = AfterNodes(self, "after-nodes", cluster=context, versions=versions, nodes=nodes.groups)
        ClusterAlarms(
            self,
            "cluster-alarms",
            cluster_name=self._prefix,
            groups=nodes.scaling_groups,
            topic_arn=self._topic_arn,
        )
        # Declared here, with key and retention: the log shipper may only write to it.
        logs = log_group(
            self,
            "pod-logs",
            name=self._twin.names.pod_logs,
            key_arn=self._keys.logs,
            days=self.environment.cluster.log_days,
        )
        identities = self._declare_identities(context)
        if self.environment.is_local:  # local AWS endpoints have no Kubernetes API to install charts in
            return
        HelmReleases(
            self,
            "addons",
            cluster=self._cluster,
            region=self.environment.region,
            charts=charts(
                settings=self.environment.cluster,
                cluster_name=self._prefix,
                region=self.environment.region,
                vpc_id=self._network.vpc_id,
                pod_logs=self._twin.names.pod_logs,
                alarm_topic_arn=self._topic_arn,
            ),
            after=[*access.grants, *after.addons, *identities.associations, logs],
        )

    def _declare_nodes(self, context: ClusterContext, before: BeforeNodes) -> NodeGroups:
        return NodeGroups(
            self,
            "nodes",
            cluster=context,
            pools=pools(self.environment.cluster),
            subnets=[
                ZoneSubnet(subnet_id=subnet, zone=zone)
                for subnet, zone in zip(self._network.subnet_ids, self._network.zones, strict=True)
            ],
            security_group_ids=[self._cluster.security_group_id, self._groups.nodes.id],
            key_arn=self._keys.cluster,
            version=self.environment.cluster.version,
            release=self.environment.cluster.node_release,
            tags=self.environment.tags(stack=str(self._twin.side)),
            after=before.addons,
        )

    def _declare_identities(self, context: ClusterContext) -> PodIdentities:
        addons = AddonResources(
            arns=self.environment.arns,
            cluster_name=self._prefix,
            kafka=self._kafka.arns,
            target_group_arn=self._ingress.target_group_arn,
            pod_logs=self._twin.names.pod_logs,
            alarm_topic_arn=self.environment.arns.of("sns", self._twin.names.alarm_topic),
            alarm_topic_key_arn=self._keys.logs,
        )
        checkpoints = Checkpoints(
            bucket=self.environment.names.bucket("checkpoints"),
            folder=str(self._twin.side),
            key_arn=self._keys.data,
        )
        return PodIdentities(
            self,
            "identities",
            cluster=context,
            identities=[
                *addon_identities(addons),
                *workload_identities(
                    kafka=self._kafka.arns,
                    checkpoints=checkpoints,
                    scorecards=Scorecards(
                        table_arn=self.environment.arns.of(
                            "dynamodb", f"table/{self.environment.names.meter_table(self._twin.side)}"
                        ),
                        table_key_arn=self._keys.data,
                        topic_arn=self.environment.arns.of("sns", self._twin.names.alarm_topic),
                        topic_key_arn=self._keys.logs,
                    ),
                    documents=DocumentTable(
                        table_arn=self.environment.arns.of(
                            "dynamodb", f"table/{self.environment.names.documents_table}"
                        ),
                        key_arn=self._keys.data,
                    ),
                    secrets_arn=self.environment.arns.of(
                        "secretsmanager", f"secret:hifi/{self._twin.side}/*"
                    ),
                ),
            ],
        )
