"""Each side's manifests, rendered once a run."""

from functools import cache
from shutil import which

import pytest

from infra.naming import Side
from tests.synth.workloads.manifests import WORKLOADS, Manifest, render


@cache
def _rendered(side: Side) -> list[Manifest]:
    return render(WORKLOADS / "overlays" / side)


@pytest.fixture(params=list(Side))
def manifests(request: pytest.FixtureRequest, kubectl: None) -> list[Manifest]:
    """A side's manifests, for blue and for green."""
    return _rendered(request.param)


@pytest.fixture(scope="session")
def cluster(kubectl: None) -> list[Manifest]:
    """A cluster's manifests before its first version."""
    return render(WORKLOADS / "cluster")


@pytest.fixture
def blue(kubectl: None) -> list[Manifest]:
    return _rendered(Side.BLUE)


@pytest.fixture
def green(kubectl: None) -> list[Manifest]:
    return _rendered(Side.GREEN)


@pytest.fixture(scope="session")
def kubectl() -> None:
    if which("kubectl") is None:
        pytest.skip(
            "no kubectl: install it (https://kubernetes.io/docs/tasks/tools/) to render the manifests"
        )
