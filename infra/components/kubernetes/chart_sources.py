"""Where each add-on's Helm chart comes from, by the field of its version."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class ChartSource:
    """A chart's name in a repository.

    Attributes:
        name: Name of the chart.
        repository: URL of its Helm repository.
    """

    name: str
    repository: str


CHART_SOURCES: Mapping[str, ChartSource] = MappingProxyType(
    {
        "metrics_server": ChartSource("metrics-server", "https://kubernetes-sigs.github.io/metrics-server"),
        "cluster_autoscaler": ChartSource("cluster-autoscaler", "https://kubernetes.github.io/autoscaler"),
        "load_balancer_controller": ChartSource(
            "aws-load-balancer-controller", "https://aws.github.io/eks-charts"
        ),
        "fluent_bit": ChartSource("aws-for-fluent-bit", "https://aws.github.io/eks-charts"),
        "prometheus": ChartSource(
            "kube-prometheus-stack", "https://prometheus-community.github.io/helm-charts"
        ),
        "keda": ChartSource("keda", "https://kedacore.github.io/charts"),
    }
)
