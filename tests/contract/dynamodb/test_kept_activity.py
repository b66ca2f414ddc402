"""An activity sends heartbeats while its block runs, and ends with it."""

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
LONG_LEASE = 3.0
"""Seconds; no busy machine stalls for as long."""


@pytest.fixture
def registers(url: str) -> tuple[ActivityRegister, ActivityRegister]:
    """A side's register as its owner has it, and as another actor has it."""
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
        """Heartbeats so far; 0 while a busy machine delays them, which the other actor takes for the end."""
        return max((each.beat for each in other.look().activities), default=0)

    with kept_activity(owner, _begun(owner)):
        eventually(lambda: beats() > 2 * RENEWALS, what="it beats")
    assert other.look().activities == []


@pytest.mark.proof
def test_others_see_it_at_each_look_until_the_block_ends(
    registers: tuple[ActivityRegister, ActivityRegister],
) -> None:
    owner, other = registers
    with kept_activity(owner, _begun(owner, LONG_LEASE)):
        eventually(lambda: other.look().activities[0].beat > 2 * RENEWALS, what="it beats")
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


def _begun(register: ActivityRegister, lease_seconds: float = LEASE) -> Activity:
    found = register.begin(Action.SCALE_OUT, "Spark workers: 1 to 2", SILENT, lease_seconds=lease_seconds)
    assert isinstance(found, Activity)
    return found
