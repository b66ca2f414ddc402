"""Two local sides behave as the deployer needs."""

from collections.abc import Sequence
from typing import Final

import pytest

from pipelines.control.deploy.backend import SideMinute
from scripts.local.twins.backend import LocalBackend
from scripts.local.twins.versions import checkout_version, commit_of
from shared.contracts.envelope import MINUTE_MS
from tests.harness.backend_conformance import BackendConformance, Place
from tests.harness.live_twins import LiveTwins

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_600)]

_PATIENCE_SECONDS: Final = 900
_WARM_UP_SECONDS: Final = 0.0
"""These tests check a side's actions, not its speed: it is ready once an event has passed through."""

_CUSTOMER: Final = "pinned"


@pytest.fixture(scope="module")
def place(live: LiveTwins) -> Place:
    """Blue runs this checkout as it is; green runs its last commit, from a separate folder."""
    own = {"name": _CUSTOMER, "tenant": _CUSTOMER}
    live.apply({"kind": "source", **own, "write_keys": [f"{_CUSTOMER}-key"]})
    return Place(
        backend=LocalBackend(live.twins, _WARM_UP_SECONDS),
        light="blue",
        dark="green",
        old=checkout_version(),
        new=commit_of("HEAD"),
        unknown="no-such-version",
        tenant=_CUSTOMER,
        patience=_PATIENCE_SECONDS,
        fence=live.next_fence(),
    )


class TestLocalBackend(BackendConformance):
    """Runs the suite, and checks the meter of a side that was set back."""

    def test_a_replay_is_processed_to_its_end_and_what_comes_after_it_arrives_once(
        self, place: Place
    ) -> None:
        """The meter does not count replayed events as lost."""
        begun = place.clock() // MINUTE_MS
        super().test_a_replay_is_processed_to_its_end_and_what_comes_after_it_arrives_once(place)
        ended = place.clock() // MINUTE_MS

        def minutes() -> Sequence[SideMinute]:
            return place.backend.minutes(place.dark, begun, ended)

        place.eventually(
            lambda: any(each.minute >= ended - 1 for each in minutes()),
            "the minute of the last events is settled",
        )
        assert [each.lost for each in minutes()] == [0] * len(minutes())
