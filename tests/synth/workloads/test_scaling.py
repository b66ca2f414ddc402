"""Scaling rules, by KEDA's behaviour as measured on a running control plane."""

import math
from typing import Any

import pytest

from infra.config import EnvironmentName, RunSettings, load_environment
from shared.contracts.bootstrap import IAM
from shared.contracts.topics import Topic
from shared.kafka.progress_group import group_name
from shared.runtime.settings import SparkSettings
from tests.synth.workloads.manifests import (
    CHAIN,
    LASTING,
    METER,
    Manifest,
    container,
    environment,
    label,
    named,
    of_kind,
    pod,
    seconds_before_kill,
    selects,
)

FROM_METRICS_SERVER = ("cpu", "memory")
READS = {"ingest": Topic.COLLECTED, "route": Topic.EVENTS, "transmit": Topic.OUTBOUND}
ZONES = 3


def scaled(manifests: list[Manifest]) -> list[Manifest]:
    found = of_kind(manifests, "ScaledObject")
    assert {each["metadata"]["name"] for each in found} == {"collect", "spark-worker"}
    return found


def external(scaled_object: Manifest) -> list[dict[str, Any]]:
    return [each for each in scaled_object["spec"]["triggers"] if each["type"] not in FROM_METRICS_SERVER]


def target(manifests: list[Manifest], scaled_object: Manifest) -> Manifest:
    return named(manifests, "Deployment", scaled_object["spec"]["scaleTargetRef"]["name"])


def test_cpu_comes_first_and_its_target_asks_for_cpu(manifests: list[Manifest]) -> None:
    for each in scaled(manifests):
        first = each["spec"]["triggers"][0]
        assert (first["type"], first["metricType"]) == ("cpu", "Utilization")
        assert 0 < int(first["metadata"]["value"]) < 100
        assert container(target(manifests, each))["resources"]["requests"]["cpu"]


def test_nothing_scales_below_one_a_zone(manifests: list[Manifest]) -> None:
    for each in scaled(manifests):
        assert each["spec"]["minReplicaCount"] >= ZONES
        assert each["spec"]["maxReplicaCount"] > each["spec"]["minReplicaCount"]
        assert "idleReplicaCount" not in each["spec"]


def test_a_dead_metric_source_holds_the_footprint(manifests: list[Manifest]) -> None:
    for each in scaled(manifests):
        if not external(each):
            # KEDA's admission webhook rejects a fallback if CPU is the only trigger.
            assert "fallback" not in each["spec"], label(each)
            continue
        fallback = each["spec"]["fallback"]
        assert fallback["behavior"] == "currentReplicasIfHigher"
        assert fallback["replicas"] >= max(1, each["spec"]["minReplicaCount"])
        assert fallback["failureThreshold"] >= 1
        # KEDA applies a fallback only to averages.
        assert all(trigger["metricType"] == "AverageValue" for trigger in external(each))


def test_there_is_an_external_trigger_to_ask_these_questions_of(manifests: list[Manifest]) -> None:
    assert any(external(each) for each in scaled(manifests))


def test_an_empty_answer_is_not_read_as_zero(manifests: list[Manifest]) -> None:
    for each in scaled(manifests):
        for trigger in external(each):
            assert trigger["type"] == "kafka", "write down what this trigger does with an empty answer"
            assert trigger["metadata"]["scaleToZeroOnInvalidOffset"] == "false"
            # `earliest` would count lost offsets as a lag of the whole topic and scale to the maximum.
            assert trigger["metadata"]["offsetResetPolicy"] == "latest"
            assert trigger["metadata"].get("excludePersistentLag", "false") == "false"


def test_the_lag_watched_is_that_of_the_shadow_groups(manifests: list[Manifest]) -> None:
    triggers = external(named(manifests, "ScaledObject", "spark-worker"))
    watched = {each["metadata"]["consumerGroup"]: each["metadata"]["topic"] for each in triggers}
    assert watched == {group_name(node): READS[node] for node in CHAIN}


def test_brokers_are_asked_over_tls_with_iam(manifests: list[Manifest]) -> None:
    for each in scaled(manifests):
        for trigger in external(each):
            facts = trigger["metadata"]
            assert (facts["tls"], facts["sasl"], facts["saslTokenProvider"]) == (
                "enable",
                "oauthbearer",
                "aws_msk_iam",
            )
            assert facts["awsRegion"] != "region"
            reader = named(manifests, "TriggerAuthentication", trigger["authenticationRef"]["name"])
            assert reader["spec"]["podIdentity"]["provider"] == "aws"
            assert facts["bootstrapServersFromEnv"] == "KAFKA_BROKERS"
            sources = container(target(manifests, each))["envFrom"]
            side = named(manifests, "ConfigMap", sources[0]["configMapRef"]["name"])
            assert side["data"]["HIFI_BOOTSTRAP"] == f"{IAM}{side['data']['KAFKA_BROKERS']}"


def test_scaling_in_is_slow_and_one_at_a_time(manifests: list[Manifest]) -> None:
    for each in scaled(manifests):
        behavior = each["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
        down = behavior["scaleDown"]
        assert down["stabilizationWindowSeconds"] >= 600
        (policy,) = down["policies"]
        assert (policy["type"], policy["value"]) == ("Pods", 1)
        # The next pod stops after the last one has ended.
        assert policy["periodSeconds"] >= seconds_before_kill(target(manifests, each))
        assert behavior["scaleUp"]["stabilizationWindowSeconds"] <= 60


def test_applying_the_manifests_again_resets_no_number(manifests: list[Manifest]) -> None:
    for each in scaled(manifests):
        assert "replicas" not in target(manifests, each)["spec"]


@pytest.mark.parametrize("node", ["ingest", "route"])
def test_the_footprint_has_a_slot_per_partition_while_a_zone_is_out(
    manifests: list[Manifest], node: str
) -> None:
    partitions = int(environment(named(manifests, "Job", "topics"))["PARTITIONS"])
    spark = spark_settings(manifests)
    workers = named(manifests, "ScaledObject", "spark-worker")["spec"]["minReplicaCount"]
    left = workers - math.ceil(workers / ZONES)
    assert spark[f"spark.worker.resource.{node}.amount"] == "1"
    assert left * int(spark["spark.executor.cores"]) >= partitions


def test_a_worker_has_room_for_one_executor_of_each_driver(manifests: list[Manifest]) -> None:
    spark = spark_settings(manifests)
    words = container(named(manifests, "Deployment", "spark-worker"))["args"]
    slots, memory = (words[words.index(option) + 1] for option in ("--cores", "--memory"))
    assert int(slots) == len(CHAIN) * int(spark["spark.executor.cores"])
    assert gib(memory) == len(CHAIN) * gib(spark["spark.executor.memory"])
    assert gib(
        container(named(manifests, "Deployment", "spark-worker"))["resources"]["limits"]["memory"]
    ) >= (1.5 * gib(memory))


def test_as_many_workers_as_a_zone_has_are_evicted_from_spot_nodes_together_and_no_more(
    manifests: list[Manifest],
) -> None:
    budget = named(manifests, "PodDisruptionBudget", "spark-worker")["spec"]["maxUnavailable"]
    share = int(str(budget).removesuffix("%")) / 100
    spec = named(manifests, "ScaledObject", "spark-worker")["spec"]
    for workers in range(spec["minReplicaCount"], spec["maxReplicaCount"] + 1):
        assert math.ceil(share * workers) == math.ceil(workers / ZONES), "Kubernetes rounds up"


def test_the_chains_singletons_are_not_moved_and_services_one_at_a_time(manifests: list[Manifest]) -> None:
    budgets = of_kind(manifests, "PodDisruptionBudget")
    for workload in of_kind(manifests, *LASTING):
        labels = workload["spec"]["template"]["metadata"]["labels"]
        (budget,) = [each for each in budgets if selects(each["spec"]["selector"], labels)]
        name = workload["metadata"]["name"]
        stays = workload["spec"].get("replicas") == 1 and name not in {*METER, "api"}
        if name != "spark-worker":
            assert budget["spec"]["maxUnavailable"] == (0 if stays else 1)
        assert pod(workload)["nodeSelector"]["hifi/pool"]


def spark_settings(manifests: list[Manifest]) -> dict[str, str]:
    (config,) = [each for each in of_kind(manifests, "ConfigMap") if "spark-defaults.conf" in each["data"]]
    lines = (line.split(None, 1) for line in config["data"]["spark-defaults.conf"].splitlines())
    return {line[0]: line[1].strip() for line in lines if len(line) == 2 and not line[0].startswith("#")}


def gib(text: str) -> float:
    return float(text.rstrip("gGi"))


def test_executors_have_the_drivers_flags_and_their_whole_heap_from_the_start(
    manifests: list[Manifest],
) -> None:
    told = spark_settings(manifests)
    flags = told["spark.executor.extraJavaOptions"].split()
    assert set(SparkSettings.model_fields["java_options"].default.split()) <= set(flags)
    assert f"-Xms{told['spark.executor.memory']}" in flags


@pytest.mark.parametrize("name", list(EnvironmentName))
def test_the_pool_has_a_node_for_each_worker_of_the_footprint(
    blue: list[Manifest], name: EnvironmentName
) -> None:
    spec = named(blue, "ScaledObject", "spark-worker")["spec"]
    nodes = load_environment(RunSettings(environment=name)).cluster.workers
    assert nodes.maximum >= spec["minReplicaCount"]
    if name is EnvironmentName.PRODUCTION:
        assert nodes.maximum >= spec["maxReplicaCount"]


def test_what_came_in_since_the_last_batch_is_not_taken_for_lag(blue: list[Manifest]) -> None:
    a_worker_carries = 5_000
    until_shown = 5
    batches = {name: SparkSettings.model_fields[f"{name}_batch"].default for name in ("ingest", "route")}
    seconds = {name: int(batch.split()[0]) for name, batch in batches.items()} | {"transmit": 1}
    for trigger in external(named(blue, "ScaledObject", "spark-worker")):
        usual = a_worker_carries * (seconds[trigger["name"]] + until_shown)
        assert 2 * usual <= int(trigger["metadata"]["lagThreshold"]) <= 4 * usual
