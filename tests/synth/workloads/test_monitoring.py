"""A side's scrape targets, alert rules and dashboard come with the workloads."""

import json
from typing import Any

import pytest

from infra.components.kubernetes.chart_sources import CHART_SOURCES
from infra.components.kubernetes.monitoring_charts import DASHBOARD_LABEL
from infra.config import EnvironmentName, RunSettings, load_environment
from tests.synth.workloads.manifests import (
    LASTING,
    Manifest,
    containers,
    named,
    of_kind,
    pod,
    pod_labels,
    selects,
)
from tests.synth.workloads.schemas import OPERATOR_OF

_NAMESPACE = {"kubernetes.io/metadata.name": "monitoring"}
_PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}


def _scraped(manifests: list[Manifest], workload: Manifest) -> list[int]:
    """Ports of a workload's pods that the monitor reads."""
    monitor = named(manifests, "PodMonitor", "hifi")["spec"]
    if not selects(monitor["selector"], pod_labels(workload)):
        return []
    found = []
    for endpoint in monitor["podMetricsEndpoints"]:
        dropped = [each["regex"] for each in endpoint["relabelings"] if each.get("action") == "drop"]
        names = {name for regex in dropped for name in regex.split("|")}
        for each in containers(workload):
            ports = {port["name"]: port["containerPort"] for port in each.get("ports", [])}
            if endpoint["port"] in ports and pod_labels(workload)["app.kubernetes.io/name"] not in names:
                found.append(ports[endpoint["port"]])
    return found


def _admitted(manifests: list[Manifest], workload: Manifest) -> set[int]:
    """Ports of a workload's pods that Prometheus reaches."""
    return {
        port["port"]
        for policy in of_kind(manifests, "NetworkPolicy")
        if selects(policy["spec"]["podSelector"], pod_labels(workload))
        for rule in policy["spec"].get("ingress", [])
        for peer in rule["from"]
        if peer.get("namespaceSelector", {}).get("matchLabels") == _NAMESPACE
        and peer["podSelector"]["matchLabels"] == _PROMETHEUS
        for port in rule["ports"]
    }


def test_prometheus_reaches_exactly_what_it_scrapes(manifests: list[Manifest]) -> None:
    silent = []
    for workload in of_kind(manifests, *LASTING):
        scraped = _scraped(manifests, workload)
        assert _admitted(manifests, workload) == set(scraped), workload["metadata"]["name"]
        assert len(scraped) <= 1
        if not scraped:
            silent.append(workload["metadata"]["name"])
    # Spark's own daemons expose none of hifi's metrics.
    assert sorted(silent) == ["spark-master", "spark-worker"]


def test_grafana_finds_the_dashboard_by_its_label(manifests: list[Manifest]) -> None:
    config = named(manifests, "ConfigMap", "dashboard")
    assert config["metadata"]["labels"][DASHBOARD_LABEL] == "1"
    (text,) = config["data"].values()
    assert json.loads(text)["title"] == "hifi"
    # `kubectl apply` keeps a copy in an annotation, which Kubernetes limits to 256 KiB.
    assert len(json.dumps(config)) < 200 * 1024


def test_the_rules_are_there(manifests: list[Manifest]) -> None:
    (group,) = named(manifests, "PrometheusRule", "hifi")["spec"]["groups"]
    assert len(group["rules"]) > 5


@pytest.mark.parametrize("name", list(EnvironmentName))
def test_the_schema_is_of_the_operator_that_the_chart_installs(name: EnvironmentName) -> None:
    assert load_environment(RunSettings(environment=name)).cluster.charts.prometheus in OPERATOR_OF
    assert CHART_SOURCES["prometheus"].name == "kube-prometheus-stack"


def test_executors_files_become_the_log_of_their_workers_pod(manifests: list[Manifest]) -> None:
    worker = named(manifests, "Deployment", "spark-worker")
    (sidecar,) = pod(worker)["initContainers"]
    assert sidecar["restartPolicy"] == "Always", "it would end before the worker starts"
    (main,) = pod(worker)["containers"]
    folder = main["args"][main["args"].index("--work-dir") + 1]
    assert sidecar["args"] == ["python", "-m", "shared.spark.executor_logs", folder]
    mounts: list[dict[str, Any]] = sidecar["volumeMounts"]
    assert {"name": "work", "mountPath": folder, "readOnly": True} in mounts
    assert sidecar["image"] == main["image"]
