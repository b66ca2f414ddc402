"""Declares what the pods of a side need: nodes, permissions, add-ons, logs."""

from infra.aws.log_group import log_group
from infra.components.identity.addon_identities import AddonResources, addon_identities
from infra.components.identity.pod_identities import ClusterContext, PodIdentities
from infra.components.identity.workload_identities import (
    Checkpoints,
    DocumentTable,
    Scorecards,
    workload_identities,
)
from infra.components.kafka.access import KafkaArns
from infra.components.kubernetes.access import ClusterAccess
from infra.components.kubernetes.alarms import ClusterAlarms
from infra.components.kubernetes.cluster import Cluster
from infra.components.kubernetes.deployer_access import DeployerAccess
from infra.components.kubernetes.helm_charts import Chart, charts
from infra.components.kubernetes.helm_releases import HelmReleases
from infra.components.kubernetes.managed_addons import AfterNodes, BeforeNodes
from infra.components.kubernetes.node_groups import NodeGroups, ZoneSubnet
from infra.components.kubernetes.node_pools import pools
from infra.stacks.twin_context import TwinContext
from infra.stacks.twin_entrances import Entrances
from infra.stacks.twin_network import TwinNetwork


def declare_pods(
    context: TwinContext, *, cluster: Cluster, network: TwinNetwork, kafka: KafkaArns, entrances: Entrances
) -> None:
    """Declare what pods need, in order: plug-ins, nodes, DNS, permissions, add-ons.

    Args:
        context: The side.
        cluster: Its EKS cluster.
        network: Its network.
        kafka: Its Kafka, which the pods' roles may use.
        entrances: Its load balancers; a controller fills their target groups.
    """
    environment = context.environment
    in_cluster = ClusterContext(
        prefix=context.prefix, cluster_name=cluster.name, boundary_arn=context.boundary_arn
    )
    access, deployer = _declare_access(context, cluster)
    versions = environment.cluster.addons.by_name()
    before = BeforeNodes(context.stack, "before-nodes", cluster=in_cluster, versions=versions)
    nodes = _declare_nodes(context, in_cluster, cluster.security_group_id, network, before)
    after = AfterNodes(
        context.stack, "after-nodes", cluster=in_cluster, versions=versions, nodes=nodes.groups
    )
    ClusterAlarms(
        context.stack,
        "cluster-alarms",
        cluster_name=context.prefix,
        groups=nodes.scaling_groups,
        topic_arn=context.alarm_topic_arn,
    )
    # Declared here, with key and retention: the log shipper may only write to it.
    logs = log_group(
        context.stack,
        "pod-logs",
        name=context.twin.names.pod_logs,
        key_arn=context.keys.logs,
        days=environment.cluster.log_days,
    )
    identities = _declare_identities(context, in_cluster, kafka, entrances)
    if environment.is_local:  # local AWS endpoints have no Kubernetes API to install charts in
        return
    HelmReleases(
        context.stack,
        "addons",
        cluster=cluster,
        region=environment.region,
        charts=_charts(context, network),
        after=[*access.grants, *after.addons, *identities.associations, deployer.association, logs],
    )


def _declare_access(context: TwinContext, cluster: Cluster) -> tuple[ClusterAccess, DeployerAccess]:
    """The cluster's administrators, and the deployer."""
    environment = context.environment
    access = ClusterAccess(
        context.stack,
        "access",
        cluster_name=cluster.name,
        administrators=[
            environment.arns.iam(f"role/{environment.names.deploy_role}"),
            *environment.cluster.administrators,
        ],
    )
    deployer = DeployerAccess(
        context.stack,
        "deployer",
        cluster_name=cluster.name,
        role_arn=environment.arns.iam(f"role/{environment.names.deployer_role}"),
    )
    return access, deployer


def _charts(context: TwinContext, network: TwinNetwork) -> tuple[Chart, ...]:
    return charts(
        settings=context.environment.cluster,
        cluster_name=context.prefix,
        region=context.environment.region,
        vpc_id=network.vpc.vpc_id,
        pod_logs=context.twin.names.pod_logs,
        alarm_topic_arn=context.alarm_topic_arn,
    )


def _declare_nodes(
    context: TwinContext, in_cluster: ClusterContext, group_id: str, network: TwinNetwork, before: BeforeNodes
) -> NodeGroups:
    settings, vpc = context.environment.cluster, network.vpc
    return NodeGroups(
        context.stack,
        "nodes",
        cluster=in_cluster,
        pools=pools(settings),
        subnets=[
            ZoneSubnet(subnet_id=subnet, zone=zone)
            for subnet, zone in zip(vpc.subnet_ids, vpc.zones, strict=True)
        ],
        security_group_ids=[group_id, network.groups.nodes.id],
        key_arn=context.keys.cluster,
        version=settings.version,
        release=settings.node_release,
        tags=context.environment.tags(stack=str(context.twin.side)),
        after=before.addons,
    )


def _declare_identities(
    context: TwinContext, in_cluster: ClusterContext, kafka: KafkaArns, entrances: Entrances
) -> PodIdentities:
    environment, twin, keys = context.environment, context.twin, context.keys
    arns, topic_arn = environment.arns, environment.arns.of("sns", twin.names.alarm_topic)
    addons = AddonResources(
        arns=arns,
        cluster_name=context.prefix,
        kafka=kafka,
        target_group_arns=entrances.target_group_arns,
        pod_logs=twin.names.pod_logs,
        alarm_topic_arn=topic_arn,
        alarm_topic_key_arn=keys.logs,
    )
    workloads = workload_identities(
        kafka=kafka,
        checkpoints=Checkpoints(
            bucket=environment.names.bucket("checkpoints"), folder=str(twin.side), key_arn=keys.data
        ),
        scorecards=Scorecards(
            table_arn=arns.of("dynamodb", f"table/{environment.names.meter_table(twin.side)}"),
            table_key_arn=keys.data,
            topic_arn=topic_arn,
            topic_key_arn=keys.logs,
        ),
        documents=DocumentTable(
            table_arn=arns.of("dynamodb", f"table/{environment.names.documents_table}"), key_arn=keys.data
        ),
        secrets_arn=arns.of("secretsmanager", f"secret:hifi/{twin.side}/*"),
    )
    return PodIdentities(
        context.stack,
        "identities",
        cluster=in_cluster,
        identities=[*addon_identities(addons), *workloads],
    )
