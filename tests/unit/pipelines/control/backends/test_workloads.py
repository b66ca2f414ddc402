"""The state of a side in AWS, derived from its objects."""

import re
from typing import Any

import pytest

from pipelines.control.backends.aws.workloads import (
    KEPT,
    STOP_ORDER,
    crashes,
    http_port,
    in_order,
    least_replicas,
    next_to_stop,
    scalers_to_pause,
    waiting_for,
)
from tests.synth.workloads.manifests import WORKLOADS

FRONT, CHAIN = ("canary", "collect", "api", "console"), ("ingest", "route", "transmit", "retry")
BASE = ("spark-master", "spark-worker", "audit", "trace")


def workload(name: str, wanted: int = 1, **status: int) -> dict[str, Any]:
    full = {"observedGeneration": 2, "updatedReplicas": wanted, "readyReplicas": wanted, "replicas": wanted}
    return {
        "kind": "Deployment",
        "metadata": {"name": name, "generation": 2, "labels": {"app.kubernetes.io/name": name}},
        "spec": {"replicas": wanted},
        "status": full | status,
    }


def pod(name: str, restarts: int = 0, made: str = "2026-01-01T00:00:10Z") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": name}, "creationTimestamp": made},
        "spec": {"containers": [{"ports": [{"name": "http", "containerPort": 8080}]}]},
        "status": {"containerStatuses": [{"restartCount": restarts}]},
    }


def names(found: Any) -> list[str]:
    return [each["metadata"]["name"] for each in found]


def of(*found: str) -> list[dict[str, Any]]:
    return [workload(each) for each in found]


def pods(*found: str) -> list[dict[str, Any]]:
    return [pod(each) for each in found]


def test_what_takes_requests_ends_before_what_moves_events_on_and_the_provisioner_stays() -> None:
    every = of("provision", *FRONT, *CHAIN, *BASE)
    assert names(next_to_stop(every, pods("provision", *FRONT, *CHAIN, *BASE))) == [*FRONT]
    rest = of("provision", *CHAIN, *BASE)
    assert names(next_to_stop(rest, pods("provision", "collect", *CHAIN, *BASE))) == [], "collect ends"
    assert names(next_to_stop(rest, pods("provision", *CHAIN, *BASE))) == [*CHAIN]


def test_executors_end_after_all_drivers_and_what_is_asked_for_permission_last() -> None:
    rest = of("provision", "observe", *BASE)
    assert names(next_to_stop(rest, pods("provision", "transmit", *BASE))) == [], "transmit ends a batch"
    assert names(next_to_stop(rest, pods("provision", "observe", *BASE))) == [*BASE]
    assert names(next_to_stop(of("provision", "observe"), pods("provision", "observe"))) == ["observe"]
    assert names(next_to_stop(of("provision"), pods("provision"))) == []


def test_a_stage_has_not_ended_while_one_of_its_workloads_is_to_have_pods() -> None:
    assert names(next_to_stop(of("collect", "ingest"), pods("ingest"))) == ["collect"]


def test_what_only_another_version_has_ends_with_the_chain() -> None:
    assert names(next_to_stop(of("observe", "enrich", "retry", "collect"), ())) == ["collect"]
    assert names(next_to_stop(of("observe", "enrich", "retry"), ())) == ["enrich", "retry"]


def test_each_workload_of_the_manifests_has_a_stage() -> None:
    texts = [each.read_text() for each in WORKLOADS.rglob("*.yaml")]
    found = {name for text in texts for name in re.findall(r"app\.kubernetes\.io/name: ([\w-]+)", text)}
    others = KEPT | {"topics", "prometheus"}  # a job, and who reads metrics
    assert found - others == {name for stage in STOP_ORDER for name in stage}


def test_an_autoscaler_rests_once_its_workload_is_stopped() -> None:
    scalers = [
        {"kind": "ScaledObject", "spec": {"scaleTargetRef": {"name": name}}}
        for name in ("collect", "spark-worker")
    ]
    found = of("collect", "ingest", "spark-worker")
    assert scalers_to_pause(scalers, found, found[:1]) == scalers[:1]
    stopped = [workload("collect", 0), *found[1:]]
    assert scalers_to_pause(scalers, stopped, found[1:2]) == scalers[:1]
    assert scalers_to_pause(scalers, stopped, found[1:]) == scalers


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (workload("route", observedGeneration=1), "route: its change is not seen yet"),
        (workload("route", 0), "route has no pods"),
        (workload("route", 2, updatedReplicas=1), "route: 1 of 2 pods run this version"),
        (workload("route", 2, readyReplicas=1), "route: 1 of 2 pods are ready"),
        (workload("route", 2, replicas=3), "route: pods of another version are left"),
    ],
)
def test_a_workload_that_is_not_ready_says_why(found: dict[str, Any], text: str) -> None:
    assert waiting_for([found, workload("retry")]) == [text]


def test_what_a_parked_side_keeps_is_not_waited_for() -> None:
    assert waiting_for([workload("provision", readyReplicas=0), workload("retry")]) == []


def test_crashes_are_those_of_pods_that_were_made_since_the_start() -> None:
    since_ms = 1_767_225_605_500  # 2026-01-01T00:00:05.5Z
    old = pod("ingest", 7, "2026-01-01T00:00:01Z")
    assert crashes([old, pod("route", 2), pod("retry", 1), pod("provision", 5)], since_ms) == 3
    assert crashes([pod("route", 1, "2026-01-01T00:00:05Z")], since_ms) == 1, "made within the same second"


def test_what_pods_need_is_applied_before_them_and_what_scales_them_after() -> None:
    kinds = ("ScaledObject", "Deployment", "Service", "StatefulSet", "Job", "ConfigMap", "ServiceAccount")
    found = in_order([{"kind": each} for each in kinds])
    assert [each["kind"] for each in found] == [
        "ServiceAccount",
        "ConfigMap",
        "Job",
        "Service",
        "Deployment",
        "StatefulSet",
        "ScaledObject",
    ]


def test_a_workload_wakes_up_with_its_own_pods_or_the_least_of_its_autoscaler() -> None:
    scaled = {"kind": "ScaledObject", "spec": {"scaleTargetRef": {"name": "collect"}, "minReplicaCount": 3}}
    made = [
        {"kind": kind, "metadata": {"name": name}, "spec": spec}
        for kind, name, spec in (
            ("Deployment", "collect", {}),
            ("Deployment", "retry", {"replicas": 2}),
            ("StatefulSet", "spark-master", {}),
            ("Service", "collect", {}),
        )
    ]
    assert least_replicas([scaled, *made]) == {"collect": 3, "retry": 2, "spark-master": 1}


def test_a_pod_without_a_named_port_cannot_be_asked() -> None:
    assert http_port(pod("observe")) == 8080
    with pytest.raises(ValueError, match="has no port named http"):
        http_port({"metadata": {"name": "x"}, "spec": {"containers": [{}]}})
