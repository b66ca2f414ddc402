"""Configuration of Prometheus: it scrapes a local side's processes by port, a cluster's pods by label."""

from typing import Any, Final

from scripts.local.addresses import HOST
from scripts.local.side import Side

METRICS_PORT_NAME: Final = "metrics"
"""Name of a pod's port that serves /metrics apart from its `http` port."""

_INTERVAL: Final = "15s"
_NAME: Final = "__meta_kubernetes_pod_label_app_kubernetes_io_name"
_ELSEWHERE: Final = "collect"
"""Pods of which the port `http` serves no metrics."""


def local(side: Side) -> dict[str, Any]:
    """prometheus.yml for a local side; each process is a job of its name."""
    ports = {
        "collect": side.collect_port,
        "retry": side.retry_port,
        "observe": side.observe_port,
        "console": side.console_port,
        "canary": side.canary_port,
        "spark": side.spark_port,
        **({"spark_standby": side.standby_port} if side.standby else {}),
        "trace": side.trace_port,
        "provision": side.provision_port,
        "api": side.api_port,
    }
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [f"{HOST}:{port}"]}]}
        for name, port in ports.items()
    ]
    return _configuration(jobs)


def pod_monitor() -> dict[str, Any]:
    """The PodMonitor of a side's cluster: it scrapes a pod's port `metrics`, or `http` if there is none.

    collect has both, and serves /metrics on `metrics` only: the load balancer reaches `http`. That of the API
    and the console lets no request for /metrics through.
    """
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {"name": "hifi"},
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/part-of": "hifi"}},
            "podMetricsEndpoints": [
                {"port": METRICS_PORT_NAME, "interval": _INTERVAL, "relabelings": _names()},
                {
                    "port": "http",
                    "interval": _INTERVAL,
                    "relabelings": [
                        {"sourceLabels": [_NAME], "regex": _ELSEWHERE, "action": "drop"},
                        *_names(),
                    ],
                },
            ],
        },
    }


def _names() -> list[dict[str, Any]]:
    return [
        {"sourceLabels": [_NAME], "targetLabel": "job"},
        {"sourceLabels": ["__meta_kubernetes_pod_name"], "targetLabel": "instance"},
    ]


def _configuration(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"global": {"scrape_interval": _INTERVAL}, "scrape_configs": jobs}
