"""Two sides in AWS keep what the deployer relies on; KWOK plays the pods of real control planes."""

import time
from collections.abc import Iterator

import pytest

from pipelines.control.backends.aws.first_version import start_first
from tests.harness.backend_conformance import BackendConformance, Place
from tests.kubernetes.aws_place import DARK, LIGHT, NEW, OLD, AwsPlace, aws_place

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1_800)]


@pytest.fixture(scope="module")
def world(configured: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsPlace]:
    folder = tmp_path_factory.mktemp("aws")
    with pytest.MonkeyPatch.context() as patch, aws_place(folder, configured, patch) as found:
        yield found


@pytest.fixture(scope="module")
def place(world: AwsPlace) -> Place:
    found = Place(backend=world.backend, light=LIGHT, dark=DARK, old=OLD, new=NEW, unknown="no-such-version")
    assert start_first(found.backend, OLD, print, lambda: time.sleep(1)) == LIGHT
    return found


class TestAwsBackend(BackendConformance):
    """All of it."""
