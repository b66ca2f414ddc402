"""What the objects of a side in AWS say of it."""

from typing import Any

import pytest

from pipelines.control.backends.aws.workloads import (
    crashes,
    http_port,
    in_order,
    least_replicas,
    next_to_stop,
    waiting_for,
)


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


def test_spark_ends_after_the_drivers_that_need_it_and_the_provisioner_stays() -> None:
    found = [workload(each) for each in ("collect", "ingest", "spark-worker", "spark-master", "provision")]
    assert names(next_to_stop(found, [pod("collect"), pod("spark-worker")])) == ["collect", "ingest"]
    rest = [workload("collect", 0), *found[2:]]
    assert names(next_to_stop(rest, [pod("collect"), pod("spark-worker")])) == []
    assert names(next_to_stop(rest, [pod("spark-worker"), pod("provision")])) == [
        "spark-worker",
        "spark-master",
    ]


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


def test_what_pods_need_is_applied_before_them() -> None:
    kinds = ("Deployment", "ScaledObject", "Job", "ConfigMap", "ServiceAccount")
    found = in_order([{"kind": each} for each in kinds])
    assert [each["kind"] for each in found] == [
        "ServiceAccount",
        "ConfigMap",
        "Job",
        "ScaledObject",
        "Deployment",
    ]


def test_what_an_autoscaler_scales_wakes_up_with_its_least_pods() -> None:
    scaled = {"kind": "ScaledObject", "spec": {"scaleTargetRef": {"name": "collect"}, "minReplicaCount": 3}}
    assert least_replicas([scaled, {"kind": "Deployment"}]) == {"collect": 3}


def test_a_pod_without_a_named_port_cannot_be_asked() -> None:
    assert http_port(pod("observe")) == 8080
    with pytest.raises(ValueError, match="has no port named http"):
        http_port({"metadata": {"name": "x"}, "spec": {"containers": [{}]}})
