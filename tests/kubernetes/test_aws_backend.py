"""Two sides in AWS behave as the deployer needs; KWOK simulates the pods of real control planes."""

import time
from collections.abc import Iterator

import boto3
import pytest

from pipelines.control.backends.aws.backend import AwsBackend
from pipelines.control.backends.aws.eks import eks_api
from pipelines.control.backends.aws.first_version import start_first
from pipelines.control.deploy.backend import BackendError, Deployed, Obstacle
from tests.harness.backend_conformance import BackendConformance, Place
from tests.harness.local_aws import REGION
from tests.kubernetes.aws_place import DARK, LIGHT, NEW, OLD, REFUSES, AwsPlace, aws_place

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1_800)]


@pytest.fixture(scope="module")
def world(configured: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsPlace]:
    folder = tmp_path_factory.mktemp("aws")
    with pytest.MonkeyPatch.context() as patch, aws_place(folder, configured, patch) as found:
        yield found


@pytest.fixture(scope="module")
def place(world: AwsPlace) -> Place:
    found = Place(backend=world.backend, light=LIGHT, dark=DARK, old=OLD, new=NEW, unknown="no-such-version")
    with world.unreachable(DARK):  # as before edge is deployed
        assert start_first(AwsBackend(world.settings), OLD, print, lambda: time.sleep(1)) == LIGHT
    return found


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/hifi/secrets",
        "/api/v1/namespaces/kube-system/pods",
        "/api/v1/nodes",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/hifi/roles/deployer",
    ],
)
def test_a_deployer_is_refused_what_no_version_needs(world: AwsPlace, path: str) -> None:
    session, region = boto3.Session(region_name=REGION), world.settings.aws_region
    eks = session.client("eks", endpoint_url=world.settings.aws_endpoint)
    kube = eks_api(session, eks, world.settings.cluster(DARK), region)
    assert kube.get("/api/v1/namespaces/hifi/configmaps/deployer-none") is None
    with pytest.raises(BackendError, match="403"):
        kube.get(path)


def test_a_version_that_refuses_what_the_sides_wrote_is_an_obstacle_before_it_is_started(
    place: Place,
) -> None:
    found: list[Obstacle] = []

    def asked() -> bool:
        answer = place.backend.obstacles(place.dark, REFUSES)
        found[:] = answer or []
        return answer is not None

    place.wake(place.old)
    place.lay_down()
    place.eventually(asked, "both sides have been read")
    text = f"version {REFUSES} refuses 3 of 200 records of events; the version that serves refuses 0"
    assert found == [Obstacle(text=text, lasting=True)] * 2, "of each side"
    assert place.backend.deployed(place.dark) == Deployed(version=place.old, parked=True)


class TestAwsBackend(BackendConformance):
    """Runs the suite against two sides in AWS."""
