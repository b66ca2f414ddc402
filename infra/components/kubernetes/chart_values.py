"""Values that the add-ons' Helm charts have in common."""

from typing import Any

from infra.components.kubernetes.node_pools import POOL

Values = dict[str, Any]

REPLICAS = 2
ONE_AT_A_TIME: Values = {"maxUnavailable": 1}
CRITICAL = "system-cluster-critical"
PLACE: Values = {POOL: "services"}


def resources(cpu: str, memory: str) -> Values:
    """Requests for both, a limit for memory only: throttling a controller makes it slow and saves nothing."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}}


def spread(label: str, value: str) -> list[Values]:
    """Over the zones, as far as there is room for the pods with this label."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {label: value}},
        }
    ]
