"""An environment's first version is started on the side with the traffic, and only if it is the first."""

import pytest

from pipelines.control.backends.aws.first_version import CannotStartError, start_first
from tests.harness.fake_place import FakePlace
from tests.harness.fake_world import DARK, LIGHT, Bad
from tests.harness.flowing_world import READY_MS


class Empty:
    """Two sides that never had a version, and a clock that advances with each wait."""

    def __init__(self) -> None:
        self.now_ms, self.said = 1_000_000, list[str]()
        self.place = FakePlace(lambda: self.now_ms)
        for side in self.place.world.sides.values():
            side.version, side.parked = "", True

    def start(self, version: str) -> str:
        return start_first(self.place, version, self.said.append, self.wait)

    def wait(self) -> None:
        self.now_ms += READY_MS


@pytest.fixture
def empty() -> Empty:
    return Empty()


def test_the_side_with_the_traffic_runs_it_when_it_is_ready(empty: Empty) -> None:
    assert empty.start("1.0") == LIGHT
    assert empty.place.deployed(LIGHT).version == "1.0"
    assert empty.place.deployed(DARK).parked
    assert empty.said == ["waiting for route"]


def test_it_is_started_while_the_other_side_cannot_be_asked(empty: Empty) -> None:
    """Before the edge stack is deployed, a side's deployer reaches only its own cluster."""
    empty.place.unreachable = {DARK}
    assert empty.start("1.0") == LIGHT


def test_it_is_started_again_after_it_broke_off(empty: Empty) -> None:
    empty.place.start(LIGHT, "1.0", fence=0)
    assert empty.start("1.0") == LIGHT


def test_another_version_takes_the_place_of_a_first_one_that_is_bad(empty: Empty) -> None:
    empty.place.start(LIGHT, Bad.NEVER_READY, fence=0)
    assert empty.start("1.1") == LIGHT
    assert empty.place.deployed(LIGHT).version == "1.1"


def test_nothing_is_started_once_a_deployer_has_acted(empty: Empty) -> None:
    empty.place.set_weights({LIGHT: 100, DARK: 0}, fence=1)
    with pytest.raises(CannotStartError, match=r"`hifi deploy 1\.0` releases it"):
        empty.start("1.0")


def test_a_version_that_is_not_there_is_named(empty: Empty) -> None:
    with pytest.raises(CannotStartError, match="there is no version missing"):
        empty.start("missing")
