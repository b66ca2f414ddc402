"""Prometheus reaches each pod's metrics; other pods do not."""

from pathlib import Path

from shared.spark.session import LOG_CONFIGURATION
from tests.synth.workloads.manifests import CHAIN, Manifest, container, environment, named
from tests.synth.workloads.test_scaling import spark_settings

_CODE_IN_IMAGE = Path("/opt/hifi/app")
_ROOT = Path(__file__).parents[3]


def ports(workload: Manifest) -> dict[str, int]:
    return {each["name"]: each["containerPort"] for each in container(workload)["ports"]}


def test_the_load_balancer_does_not_reach_the_metrics_of_collect(manifests: list[Manifest]) -> None:
    collect = named(manifests, "Deployment", "collect")
    found, told = ports(collect), environment(collect)
    assert int(told["HIFI_METRICS_PORT"]) == found["metrics"]
    assert int(told["HIFI_PORT"]) == found["http"]
    (served,) = named(manifests, "Service", "collect")["spec"]["ports"]
    assert served["targetPort"] == "http"
    assert found["metrics"] not in (found["http"], served["port"])


def test_every_driver_exposes_its_metrics_to_the_cluster(manifests: list[Manifest]) -> None:
    for node in CHAIN:
        driver = named(manifests, "Deployment", f"{node}-driver")
        told = environment(driver)
        assert told["HIFI_METRICS_HOST"] == "0.0.0.0"
        assert int(told["HIFI_METRICS_PORT"]) == ports(driver)["metrics"]


def test_executors_log_json_by_the_configuration_that_is_in_their_image(manifests: list[Manifest]) -> None:
    options = spark_settings(manifests)["spark.executor.extraJavaOptions"].split()
    (given,) = (each for each in options if each.startswith("-Dlog4j2.configurationFile="))
    place = Path(given.partition("=")[2])
    assert place.relative_to(_CODE_IN_IMAGE) == LOG_CONFIGURATION.relative_to(_ROOT)
