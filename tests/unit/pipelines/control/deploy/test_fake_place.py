"""The place in memory that tests of releases use satisfies the backend protocol."""

import pytest

from tests.harness.backend_conformance import BackendConformance, Place
from tests.harness.fake_place import TENANTS, FakePlace
from tests.harness.fake_world import DARK, LIGHT, OLD
from tests.harness.release_world import START_MS


class TestFakePlace(BackendConformance):
    @pytest.fixture
    def place(self) -> Place:
        now = 0.0

        def pause(seconds: float) -> None:
            nonlocal now
            now += seconds

        def clock() -> int:
            return START_MS + int(now * 1_000)

        return Place(
            backend=FakePlace(clock),
            clock=clock,
            light=LIGHT,
            dark=DARK,
            old=OLD,
            new="2.0",
            unknown="missing",
            tenant=TENANTS[0],
            pause=pause,
            monotonic=lambda: now,
        )
