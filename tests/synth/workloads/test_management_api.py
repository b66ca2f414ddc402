"""The management API of a side."""

from pipelines.management.api.settings import ApiSettings
from tests.synth.workloads.manifests import Manifest, container, environment, named, of_kind, wanted


def test_the_management_api_is_reached_from_inside_its_pod_only(manifests: list[Manifest]) -> None:
    api = named(manifests, "Deployment", "api")
    assert environment(api)["HIFI_HOST"] == "127.0.0.1"
    probes = [container(api)[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness")]
    port = environment(api)["HIFI_PORT"]
    assert all(
        f"127.0.0.1:{port}/" in each["exec"]["command"][-1] and "httpGet" not in each for each in probes
    )
    assert not [each for each in of_kind(manifests, "Service") if each["metadata"]["name"] == "api"]
    (side,) = [each["data"] for each in of_kind(manifests, "ConfigMap") if "HIFI_SIDE" in each["data"]]
    assert wanted(ApiSettings) <= side.keys() | environment(api).keys()
