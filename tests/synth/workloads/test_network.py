"""Network policies: which pod may connect to which."""

from ipaddress import ip_network
from typing import Any

from infra.config import RunSettings, load_environment
from infra.naming import Side
from tests.synth.workloads.manifests import (
    CHAIN,
    WITH_PODS,
    Manifest,
    container,
    label,
    named,
    of_kind,
    pod_labels,
    selects,
)
from tests.synth.workloads.test_scaling import spark_settings

PRIVATE = ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")


def policies_of(manifests: list[Manifest], labels: dict[str, str], direction: str) -> list[Manifest]:
    return [
        each
        for each in of_kind(manifests, "NetworkPolicy")
        if direction in each["spec"]["policyTypes"] and selects(each["spec"]["podSelector"], labels)
    ]


def rules(manifests: list[Manifest], labels: dict[str, str], direction: str) -> list[dict[str, Any]]:
    key = direction.lower()
    return [rule for each in policies_of(manifests, labels, direction) for rule in each["spec"].get(key, [])]


def reaches(manifests: list[Manifest], source: Manifest, destination: Manifest, port: int) -> bool:
    """Whether both ends' policies let one pod connect to another's port."""
    out = rules(manifests, pod_labels(source), "Egress")
    into = rules(manifests, pod_labels(destination), "Ingress")
    return any(_allows(rule, "to", pod_labels(destination), port) for rule in out) and any(
        _allows(rule, "from", pod_labels(source), port) for rule in into
    )


def _allows(rule: dict[str, Any], end: str, labels: dict[str, str], port: int) -> bool:
    peers = [each["podSelector"] for each in rule[end] if each.keys() == {"podSelector"}]
    return any(selects(peer, labels) for peer in peers) and any(
        each["port"] <= port <= each.get("endPort", each["port"]) for each in rule["ports"]
    )


def test_what_is_not_named_is_denied(manifests: list[Manifest]) -> None:
    deny = named(manifests, "NetworkPolicy", "deny-all")["spec"]
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_spark_reaches_itself_at_every_port_it_uses(manifests: list[Manifest]) -> None:
    spark = spark_settings(manifests)
    master = named(manifests, "StatefulSet", "spark-master")
    worker = named(manifests, "Deployment", "spark-worker")
    blocks = int(spark["spark.blockManager.port"])
    ports = {each["name"]: each["containerPort"] for each in container(worker)["ports"]}
    for node in CHAIN:
        driver = named(manifests, "Deployment", f"{node}-driver")
        assert reaches(manifests, driver, master, 7077)
        assert reaches(manifests, master, driver, int(spark["spark.driver.port"]))
        for key in ("spark.driver.port", "spark.driver.blockManager.port"):
            assert reaches(manifests, worker, driver, int(spark[key]))
        assert reaches(manifests, driver, worker, blocks)
    assert reaches(manifests, worker, master, 7077)
    assert reaches(manifests, master, worker, ports["rpc"])
    # One port for each executor, and one more for each that is being replaced.
    for executor in range(2 * len(CHAIN)):
        assert reaches(manifests, worker, worker, blocks + executor)


def test_a_service_reaches_nothing_of_spark(manifests: list[Manifest]) -> None:
    for name in ("collect", "retry", "observe", "console", "canary", "provision", "api"):
        service = named(manifests, "Deployment", name)
        assert not reaches(manifests, service, named(manifests, "StatefulSet", "spark-master"), 7077)
        assert not reaches(manifests, service, named(manifests, "Deployment", "spark-worker"), 7200)


def test_the_meter_is_asked_by_its_console_and_collect_by_the_canary(manifests: list[Manifest]) -> None:
    services = {
        name: named(manifests, "Deployment", name)
        for name in ("collect", "observe", "console", "canary", "api", "provision")
    }
    services["spark-worker"] = named(manifests, "Deployment", "spark-worker")
    for caller, called in (
        ("console", "observe"),
        ("api", "observe"),
        ("provision", "observe"),
        ("canary", "collect"),
        ("spark-worker", "canary"),
        ("console", "api"),
    ):
        assert reaches(manifests, services[caller], services[called], 8080)
    for caller, called in (
        ("canary", "observe"),
        ("collect", "observe"),
        ("observe", "console"),
        ("api", "console"),
        ("canary", "api"),
    ):
        assert not reaches(manifests, services[caller], services[called], 8080)


def test_the_internet_is_open_to_spark_observe_and_the_management_plane_alone_and_never_by_a_private_address(
    manifests: list[Manifest],
) -> None:
    for workload in of_kind(manifests, *WITH_PODS):
        wide = [
            (peer["ipBlock"], rule["ports"])
            for rule in rules(manifests, pod_labels(workload), "Egress")
            for peer in rule["to"]
            if peer.get("ipBlock", {}).get("cidr") == "0.0.0.0/0"
        ]
        for block, _ in wide:
            assert sorted(block["except"], key=ip_network) == sorted(PRIVATE, key=ip_network)
        name = workload["metadata"]["name"]
        known = (443, 587) if name == "observe" else (443,)  # observe sends customers' alarms by e-mail
        any_port = [
            ports for _, ports in wide if ports != [{"protocol": "TCP", "port": port} for port in known]
        ]
        may = pod_labels(workload).get("hifi/spark") == "true" or name in (
            "observe",
            "provision",
            "api",
            "console",
        )
        assert bool(wide) == may, label(workload)
        assert bool(any_port) == (name == "spark-worker"), label(workload)


def test_brokers_are_reached_in_the_sides_own_network_only(
    blue: list[Manifest], green: list[Manifest]
) -> None:
    environment = load_environment(RunSettings())
    for side, manifests in ((Side.BLUE, blue), (Side.GREEN, green)):
        for workload in of_kind(manifests, *WITH_PODS):
            brokers = {
                peer["ipBlock"]["cidr"]
                for rule in rules(manifests, pod_labels(workload), "Egress")
                for peer in rule["to"]
                if {"protocol": "TCP", "port": 9098} in rule["ports"]
            }
            assert brokers == {str(environment.twin(side).cidr)}


def test_only_the_sides_own_network_may_call_in_and_only_what_a_load_balancer_or_kubernetes_asks(
    blue: list[Manifest],
) -> None:
    """The deployer calls observe and canary through the proxy of Kubernetes' API."""
    network = str(load_environment(RunSettings()).twin(Side.BLUE).cidr)
    for workload in of_kind(blue, *WITH_PODS):
        callers = [
            peer["ipBlock"]["cidr"]
            for rule in rules(blue, pod_labels(workload), "Ingress")
            for peer in rule["from"]
            if "ipBlock" in peer
        ]
        asked = workload["metadata"]["name"] in ("collect", "api", "console", "observe", "canary")
        assert callers == ([network] if asked else []), label(workload)
