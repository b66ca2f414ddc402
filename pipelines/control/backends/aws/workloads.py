"""A side as its Kubernetes objects show it: its stop order, readiness and crashes. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pipelines.control.backends.aws.manifest import Manifest
from shared.contracts.timestamps import parse_time

OURS: Final = "app.kubernetes.io/part-of=hifi"
"""Selects all that belongs to hifi."""

NAME: Final = "app.kubernetes.io/name"
VERSION: Final = "hifi/version"
"""Annotation of an object: the version that it is of."""

CANARY: Final = "canary"
COLLECT: Final = "collect"
READABILITY: Final = "readability"
"""The job in which a version is asked what it reads, see `questions`."""

KEPT: Final = frozenset({"provision", "deploy", READABILITY})
"""Names of what a parked side keeps: documents stay up to date, a version is asked, it can be woken up."""

PAUSED: Final = "autoscaling.keda.sh/paused-replicas"
"""KEDA scales the workload to this number at once, and then leaves it alone."""

STOP_ORDER: Final = (
    # Gives the others work. collect takes events on connections that were kept until its preStop is over.
    frozenset({CANARY, COLLECT, "api", "console"}),
    # Moves events on.
    frozenset({"ingest", "route", "transmit", "retry"}),
    # Drivers need executors to end their batches, and what counts their work ends after them.
    frozenset({"spark-master", "spark-worker", "audit", "trace"}),
    # A deployer that takes over meanwhile asks it whether the side may be parked.
    frozenset({"observe"}),
)
"""The stages of parking a side, by names of workloads: each begins when the one before it has ended."""

_UNKNOWN_STAGE: Final = 1
"""Stage of a workload that this version does not know, which another version brings."""

_SECOND_MS: Final = 1_000  # times of Kubernetes are whole seconds
_LASTING: Final = frozenset({"Deployment", "StatefulSet"})


def name_of(manifest: Manifest) -> str:
    """The name of a workload or a pod, by its label; empty without one."""
    return str(manifest["metadata"].get("labels", {}).get(NAME, ""))


def code(found: Iterable[Manifest]) -> Sequence[Manifest]:
    """Workloads or pods without those that a parked side keeps."""
    return [each for each in found if name_of(each) not in KEPT]


def next_to_stop(workloads: Iterable[Manifest], pods: Iterable[Manifest]) -> Sequence[Manifest]:
    """The workloads that are to be scaled to zero now: those of the first stage that has not ended.

    A stage ends with its last pod, however long that takes; until then there are none.
    """
    wanted = _with_replicas(workloads)
    stage = min((_stop_stage(each) for each in (*wanted, *code(pods))), default=0)
    return [each for each in wanted if _stop_stage(each) == stage]


def scalers_to_pause(
    scalers: Iterable[Manifest], workloads: Iterable[Manifest], ending: Iterable[Manifest]
) -> Sequence[Manifest]:
    """The autoscalers that are to rest now: not those of workloads that have to run on for the present.

    Args:
        scalers: the side's ScaledObjects.
        workloads: the side's.
        ending: those of them that are scaled to zero now.
    """
    names = {each["metadata"]["name"] for each in ending}
    kept = {each["metadata"]["name"] for each in _with_replicas(workloads)} - names
    return [each for each in scalers if each["spec"]["scaleTargetRef"]["name"] not in kept]


def least_replicas(manifests: Sequence[Manifest]) -> Mapping[str, int]:
    """The least number of pods of each workload, by name; its autoscaler's minimum, if it has one."""
    made = {
        each["metadata"]["name"]: int(each["spec"].get("replicas", 1))
        for each in manifests
        if each["kind"] in _LASTING
    }
    return made | {
        each["spec"]["scaleTargetRef"]["name"]: int(each["spec"].get("minReplicaCount", 1))
        for each in manifests
        if each["kind"] == "ScaledObject"
    }


def in_order(manifests: Iterable[Manifest]) -> Sequence[Manifest]:
    """Sort manifests for applying: first what others need, then pods, then their autoscalers.

    KEDA's webhook refuses an autoscaler by CPU or memory if its workload is not there.
    """
    first = ("ServiceAccount", "ConfigMap", "Job")
    ranks = {kind: rank for rank, kind in enumerate(first)}
    others = len(ranks)
    ranks |= dict.fromkeys(_LASTING, others + 1) | {"ScaledObject": others + 2}
    return sorted(manifests, key=lambda manifest: ranks.get(manifest["kind"], others))


def waiting_for(workloads: Iterable[Manifest]) -> Sequence[str]:
    """Workloads that are not ready, and why, in words."""
    return [text for each in code(workloads) if (text := _wait(each))]


def crashes(pods: Iterable[Manifest], since_ms: int) -> int:
    """How often containers of pods that were made since have ended by themselves."""
    return sum(
        int(container.get("restartCount", 0))
        for pod in code(pods)
        if (parse_time(pod["metadata"]["creationTimestamp"]) or 0) >= since_ms - _SECOND_MS
        for container in pod.get("status", {}).get("containerStatuses", [])
    )


def http_port(pod: Manifest) -> int:
    """Where a pod answers HTTP.

    Raises:
        ValueError: if its manifest does not say so.
    """
    for container in pod["spec"]["containers"]:
        for port in container.get("ports", []):
            if port.get("name") == "http":
                return int(port["containerPort"])
    raise ValueError(f"pod {pod['metadata']['name']} has no port named http")


def is_ready(pod: Manifest) -> bool:
    """Whether a pod is ready, and not about to end."""
    return _has_condition(pod, "Ready") and "deletionTimestamp" not in pod["metadata"]


def has_ended(job: Manifest) -> bool:
    """Whether a job runs no more."""
    return has_failed(job) or _has_condition(job, "Complete")


def has_failed(job: Manifest) -> bool:
    """Whether a job has ended without success: out of time, or of tries."""
    return _has_condition(job, "Failed")


def _has_condition(manifest: Manifest, name: str) -> bool:
    found = manifest.get("status", {}).get("conditions", [])
    return any(each["type"] == name and each["status"] == "True" for each in found)


def _with_replicas(workloads: Iterable[Manifest]) -> Sequence[Manifest]:
    return [each for each in code(workloads) if each["spec"].get("replicas")]


def _stop_stage(manifest: Manifest) -> int:
    name = name_of(manifest)
    return next((stage for stage, names in enumerate(STOP_ORDER) if name in names), _UNKNOWN_STAGE)


def _wait(workload: Manifest) -> str:
    name, status = workload["metadata"]["name"], workload.get("status", {})
    wanted = int(workload["spec"].get("replicas", 1))
    if status.get("observedGeneration", 0) < workload["metadata"]["generation"]:
        return f"{name}: its change is not seen yet"
    if not wanted:
        return f"{name} has no pods"
    counts: Mapping[str, Any] = {each: status.get(each, 0) for each in ("updatedReplicas", "readyReplicas")}
    if counts["updatedReplicas"] < wanted:
        return f"{name}: {counts['updatedReplicas']} of {wanted} pods run this version"
    if counts["readyReplicas"] < wanted:
        return f"{name}: {counts['readyReplicas']} of {wanted} pods are ready"
    return f"{name}: pods of another version are left" if status.get("replicas", 0) > wanted else ""
