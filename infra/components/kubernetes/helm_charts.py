"""The add-ons' Helm charts and their values, without any resource."""

from dataclasses import dataclass

from infra.components.identity.addon_identities import (
    AUTOSCALER,
    BALANCER,
    KEDA,
    KEDA_NAMESPACE,
    MONITORING_NAMESPACE,
    SYSTEM_NAMESPACE,
)
from infra.components.kubernetes.chart_sources import CHART_SOURCES
from infra.components.kubernetes.chart_values import (
    CRITICAL,
    ONE_AT_A_TIME,
    PLACE,
    REPLICAS,
    Values,
    resources,
    spread,
)
from infra.components.kubernetes.monitoring_charts import fluent_bit, prometheus_stack
from infra.components.kubernetes.node_pools import SPOT_WORKERS
from infra.sizes import ClusterSettings


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart, its version and its values."""

    name: str
    repository: str
    version: str
    namespace: str
    values: Values


def charts(  # noqa: PLR0913 -- each a fact about the side
    *,
    settings: ClusterSettings,
    cluster_name: str,
    region: str,
    vpc_id: str,
    pod_logs: str,
    alarm_topic_arn: str,
) -> tuple[Chart, ...]:
    """The charts of a side.

    Args:
        settings: Kubernetes and chart versions.
        cluster_name: Name of the EKS cluster.
        region: AWS region.
        vpc_id: The side's VPC.
        pod_logs: Log group of the pods.
        alarm_topic_arn: SNS topic of the side's alarms.
    """
    versions = settings.charts

    def chart(source: str, namespace: str, values: Values) -> Chart:
        found = CHART_SOURCES[source]
        return Chart(
            name=found.name,
            repository=found.repository,
            version=getattr(versions, source),
            namespace=namespace,
            values=values,
        )

    autoscaler = _autoscaler(kubernetes=settings.version, cluster_name=cluster_name, region=region)
    balancer = _balancer(cluster_name=cluster_name, region=region, vpc_id=vpc_id)
    prometheus = prometheus_stack(cluster_name=cluster_name, region=region, topic_arn=alarm_topic_arn)
    return (
        chart("metrics_server", SYSTEM_NAMESPACE, _metrics_server()),
        chart("cluster_autoscaler", SYSTEM_NAMESPACE, autoscaler),
        chart("load_balancer_controller", SYSTEM_NAMESPACE, balancer),
        chart("keda", KEDA_NAMESPACE, _keda(cluster_name)),
        chart("fluent_bit", MONITORING_NAMESPACE, fluent_bit(region=region, log_group=pod_logs)),
        chart("prometheus", MONITORING_NAMESPACE, prometheus),
    )


def _metrics_server() -> Values:
    return {
        "replicas": REPLICAS,
        "nodeSelector": PLACE,
        "priorityClassName": CRITICAL,
        "podDisruptionBudget": {"enabled": True} | ONE_AT_A_TIME,
        "resources": resources("100m", "256Mi"),
        "topologySpreadConstraints": spread("app.kubernetes.io/name", "metrics-server"),
    }


def _autoscaler(*, kubernetes: str, cluster_name: str, region: str) -> Values:
    return {
        "replicaCount": REPLICAS,
        "nodeSelector": PLACE,
        "priorityClassName": CRITICAL,
        # The autoscaler simulates this Kubernetes version's scheduler: both must have one minor version.
        "image": {"tag": f"v{kubernetes}.0"},
        "cloudProvider": "aws",
        "awsRegion": region,
        "autoDiscovery": {"clusterName": cluster_name},
        "rbac": {"serviceAccount": {"name": AUTOSCALER}},
        "expanderPriorities": expander_priorities(),
        "extraArgs": {
            "expander": "priority,least-waste",
            # Without spot capacity for this long, the spare on-demand group is extended.
            "max-node-provision-time": "3m",
            "balance-similar-node-groups": True,
            # Spark's shuffle files are local, and are written again by the executor that repeats the task.
            "skip-nodes-with-local-storage": False,
            "scale-down-unneeded-time": "10m",
        },
        "podDisruptionBudget": ONE_AT_A_TIME,
        "resources": resources("100m", "600Mi"),
        "topologySpreadConstraints": spread("app.kubernetes.io/instance", AUTOSCALER),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containerSecurityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def expander_priorities() -> dict[int, list[str]]:
    """Patterns of Auto Scaling groups, of which the autoscaler extends the one of the highest number.

    EKS names them `eks-<name of the node group>-<id>`. Spot comes first; if it has no capacity the autoscaler
    waits `max-node-provision-time`, and then extends the spare group.
    """
    return {50: [f"^eks-{SPOT_WORKERS}-.*"], 10: [".*"]}


def _balancer(*, cluster_name: str, region: str, vpc_id: str) -> Values:
    return {
        "replicaCount": REPLICAS,
        "nodeSelector": PLACE,
        "priorityClassName": CRITICAL,
        "clusterName": cluster_name,
        # Set here: pods cannot reach the instance metadata where it would look the two up.
        "region": region,
        "vpcId": vpc_id,
        "serviceAccount": {"name": BALANCER},
        "defaultTargetType": "ip",
        # It only fills target groups: it creates no load balancer or rule, and has no permissions for them.
        "createIngressClassResource": False,
        "ingressClassParams": {"create": False},
        "enableServiceMutatorWebhook": False,
        "enableBackendSecurityGroup": False,
        "enableShield": False,
        "enableWaf": False,
        "enableWafv2": False,
        "keepTLSSecret": True,
        "podDisruptionBudget": ONE_AT_A_TIME,
        "resources": resources("100m", "256Mi"),
        "topologySpreadConstraints": spread("app.kubernetes.io/name", BALANCER),
    }


def _keda(cluster_name: str) -> Values:
    parts = ("operator", "metricServer", "webhooks")
    return {
        "clusterName": cluster_name,
        "nodeSelector": PLACE,
        "priorityClassName": CRITICAL,
        "operator": {"replicaCount": REPLICAS},
        "metricsServer": {"replicaCount": REPLICAS},
        "webhooks": {"replicaCount": REPLICAS},
        "serviceAccount": {"operator": {"name": KEDA}},
        "podDisruptionBudget": dict.fromkeys(parts, ONE_AT_A_TIME),
        "resources": dict.fromkeys(parts, resources("100m", "512Mi")),
        "topologySpreadConstraints": {
            "operator": spread("app", KEDA),
            "metricsServer": spread("app", "keda-operator-metrics-apiserver"),
            "webhooks": spread("app", "keda-admission-webhooks"),
        },
    }
