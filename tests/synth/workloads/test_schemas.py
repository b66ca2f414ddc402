"""Every manifest is valid for the cluster's version, every custom resource for its controller's schema."""

from copy import deepcopy

import jsonschema
import kubernetes_validate
import pytest

from infra.config import EnvironmentName, RunSettings, load_environment
from tests.synth.workloads.manifests import Manifest, label, named
from tests.synth.workloads.schemas import KEDA, schemas

# No package has the load balancer controller's schema: test_sides compares its only object as a whole.
_COMPARED_WHOLE = ("elbv2.k8s.aws/v1beta1", "TargetGroupBinding")
_NATIVE_GROUPS = (
    "v1",
    "apps/v1",
    "batch/v1",
    "policy/v1",
    "networking.k8s.io/v1",
    "storage.k8s.io/v1",
    "rbac.authorization.k8s.io/v1",
)
VERSIONS = sorted(
    {load_environment(RunSettings(environment=name)).cluster.version for name in EnvironmentName}
)


def check(manifest: Manifest, version: str) -> None:
    if manifest["apiVersion"] in _NATIVE_GROUPS:
        kubernetes_validate.validate(manifest, version, strict=True)
    elif (manifest["apiVersion"], manifest["kind"]) != _COMPARED_WHOLE:
        jsonschema.validate(manifest, schemas()[manifest["apiVersion"], manifest["kind"]])


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_is_valid_for_the_clusters_version(
    manifests: list[Manifest], cluster: list[Manifest], version: str
) -> None:
    for manifest in (*manifests, *cluster):
        try:
            check(manifest, version)
        except (kubernetes_validate.ValidationError, jsonschema.ValidationError) as error:
            pytest.fail(f"{label(manifest)}: {error.message}")


def test_a_misspelt_field_would_be_found(blue: list[Manifest]) -> None:
    native = deepcopy(named(blue, "Deployment", "collect"))
    native["spec"]["template"]["spec"]["terminationGraceSeconds"] = 5
    with pytest.raises(kubernetes_validate.ValidationError):
        check(native, VERSIONS[0])
    scaled = deepcopy(named(blue, "ScaledObject", "spark-worker"))
    scaled["spec"]["fallback"]["replica"] = 5
    with pytest.raises(jsonschema.ValidationError):
        check(scaled, VERSIONS[0])


@pytest.mark.parametrize("name", list(EnvironmentName))
def test_kedas_schema_is_of_the_version_that_is_installed(name: EnvironmentName) -> None:
    assert load_environment(RunSettings(environment=name)).cluster.charts.keda == KEDA
