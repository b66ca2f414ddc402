"""Two local sides keep what the deployer relies on."""

from typing import Final

import pytest

from scripts.local.twins.backend import LocalBackend
from scripts.local.twins.versions import checkout_version, commit_of
from tests.harness.backend_conformance import BackendConformance, Place
from tests.harness.live_twins import WARM_UP_SECONDS, LiveTwins

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_600)]

_PATIENCE_SECONDS: Final = 900


@pytest.fixture(scope="module")
def place(live: LiveTwins) -> Place:
    """Blue runs this checkout as it is; green is given its last commit, in a folder of its own."""
    return Place(
        backend=LocalBackend(live.twins, WARM_UP_SECONDS),
        light="blue",
        dark="green",
        old=checkout_version(),
        new=commit_of("HEAD"),
        unknown="no-such-version",
        patience=_PATIENCE_SECONDS,
        fence=live.next_fence(),
    )


class TestLocalBackend(BackendConformance):
    """All of it."""
