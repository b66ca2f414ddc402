"""An activity beats for as long as its block runs, and ends with it."""

import time
from uuid import uuid4

import pytest

from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import SILENT
from shared.dynamodb.activity_register import ActivityRegister
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.kept_activity import kept_activity
from shared.dynamodb.renewed_lease import RENEWALS
from shared.runtime.clock import wall_clock
from tests.harness.waiting import eventually

TABLE = "kept"
LEASE = 1.0


@pytest.fixture
def registers(url: str) -> tuple[ActivityRegister, ActivityRegister]:
    """One side's, of an owner and of another actor."""
    DocumentTable(TABLE, url).ensure()
    side = f"side-{uuid4().hex[:8]}"
    owner, other = (
        ActivityRegister(TABLE, url, side=side, owner=name, clock=wall_clock, monotonic=time.monotonic)
        for name in ("owner", "other")
    )
    return owner, other


def test_it_beats_for_longer_than_its_lease_and_ends_with_the_block(
    registers: tuple[ActivityRegister, ActivityRegister],
) -> None:
    owner, other = registers

    def beats() -> int:
        """So far; 0 while a busy machine holds it up, which the other takes for its end."""
        return max((each.beat for each in other.look().activities), default=0)

    with kept_activity(owner, _begun(owner)):
        eventually(lambda: beats() > 2 * RENEWALS, what="it beats")
    assert other.look().activities == []


def test_work_whose_activity_was_lost_is_done_to_its_end(
    registers: tuple[ActivityRegister, ActivityRegister],
) -> None:
    owner, other = registers

    def lost() -> bool:
        for each in other.look().activities:
            other.end(each)
        return not other.look().activities

    with kept_activity(owner, _begun(owner)):
        eventually(lost, what="it is taken away")
        later = other.begin(Action.MAINTAIN, "a patch", SILENT)
    assert other.look().activities == [later], "only its own is ended"


def _begun(register: ActivityRegister) -> Activity:
    found = register.begin(Action.SCALE_OUT, "Spark workers: 1 to 2", SILENT, lease_seconds=LEASE)
    assert isinstance(found, Activity)
    return found
