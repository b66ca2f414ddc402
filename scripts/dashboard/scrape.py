"""Prometheus scrape configurations: a local side's processes by port, a cluster's pods by label."""

from typing import Any, Final

from scripts.local.side import HOST, Side

METRICS_PORT_NAME: Final = "metrics"
"""Name of a pod's port that serves /metrics apart from its `http` port."""

_INTERVAL: Final = "15s"


def local(side: Side) -> dict[str, Any]:
    """prometheus.yml for a local side; each process is a job of its name."""
    ports = {
        "collect": side.collect_port,
        "retry": side.retry_port,
        "observe": side.observe_port,
        "console": side.console_port,
        "canary": side.canary_port,
        "spark": side.spark_port,
        "trace": side.trace_port,
        "provision": side.provision_port,
        "api": side.api_port,
    }
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [f"{HOST}:{port}"]}]}
        for name, port in ports.items()
    ]
    return _configuration(jobs)


def kubernetes() -> dict[str, Any]:
    """prometheus.yml for a Prometheus that runs in a side's cluster and may list its pods.

    It scrapes a pod's port `metrics`, or `http` if there is none. collect has both, and serves /metrics on
    `metrics` only: the load balancer reaches `http`.
    """
    label = "__meta_kubernetes_pod_label_app_kubernetes_io_"
    port = "__meta_kubernetes_pod_container_port_name"
    job = {
        "job_name": "hifi",
        "kubernetes_sd_configs": [{"role": "pod", "namespaces": {"names": ["hifi"]}}],
        "relabel_configs": [
            _keep(f"{label}part_of", "hifi"),
            _keep(port, f"{METRICS_PORT_NAME}|http"),
            {**_sources(f"{label}name", port), "regex": "collect;http", "action": "drop"},
            {**_sources(f"{label}name"), "target_label": "job"},
            {**_sources("__meta_kubernetes_pod_name"), "target_label": "instance"},
        ],
    }
    return _configuration([job])


def _keep(label: str, values: str) -> dict[str, Any]:
    return {**_sources(label), "regex": values, "action": "keep"}


def _sources(*labels: str) -> dict[str, Any]:
    return {"source_labels": list(labels)}


def _configuration(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"global": {"scrape_interval": _INTERVAL}, "scrape_configs": jobs}
