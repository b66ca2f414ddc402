"""The side that traffic left is parked once everything that it took is accounted for."""

import re
from pathlib import Path
from typing import Final

import pytest

from shared.contracts.release_steps import Step
from tests.harness.live_twins import LiveTwins
from tests.harness.waiting import eventually
from tests.twins.customer import Customer
from tests.twins.releases import Releases

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_600)]

RATE: Final = 100
LATER: Final = "503:400s=20%"
"""The destination asks for another try when the switch has long reached its last step but one."""

REFUSED: Final = 20


def test_events_that_wait_for_their_next_try_keep_a_side_until_they_have_arrived(
    live: LiveTwins, tmp_path: Path
) -> None:
    releases, customer = Releases(live), Customer(live, "drain", tmp_path, RATE)
    with customer.busy():
        releases.begin("switch")
        switched = releases.at(Step.WARM)  # a start may take longer than the events wait
        customer.refuse_some(LATER, REFUSED)
        releases.at(Step.DRAIN)
        words = r"left: .*\d+ events wait for their next try"
        eventually(lambda: re.fullmatch(words, releases.state().said), 60, "retries keep it", every=1)
        assert releases.serving()[switched["former"]][1:] == (0, False)
        release = releases.done()
        said = next(each["said"] for each in release["log"] if each["step"] == Step.DRAIN)
        assert said.startswith("nothing unread; dead letters: ")
        assert releases.serving()[switched["former"]][1:] == (0, True)
    check = customer.check()
    assert (check.lost, check.waiting, check.duplicated) == ((), 0, 0)
