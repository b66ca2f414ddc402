"""Two whole sides behind one port: traffic moves to and fro, a side is parked, and nothing is lost."""

import re
import sys
from pathlib import Path

import pytest

from scripts.local.twins.backend import LocalBackend
from scripts.local.warmup.warmup import WARM_UP_SECONDS
from tests.harness.live_twins import LiveTwins
from tests.harness.waiting import eventually
from tests.harness.whole_minutes import whole_minutes
from tests.twins.customer import Customer

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_600)]

RATE = 200
BATCH = 2
"""Events in a request: a hundred requests a second, as in other tests of two sides."""

READY_SECONDS = 900
DRAIN_SECONDS = 300
PROVE_SECONDS = 300
MEGABYTE = 1024**2
MOST_PARKED_MEGABYTES = 2_048
MOST_MEGABYTES = 8_192
"""Memory of both sides, edge and store, while one side is parked."""


class Moves:
    """The test's steps; each waits until it is complete."""

    def __init__(self, live: LiveTwins) -> None:
        self.backend = LocalBackend(live.twins, WARM_UP_SECONDS)
        self.fence = live.next_fence()

    def wake(self, side: str, version: str) -> None:
        """Start a parked side and prove it, without traffic."""
        self.backend.start(side, version, fence=self.fence)
        eventually(lambda: self._ready(side), READY_SECONDS, f"{side} is ready", every=1)
        eventually(lambda: self._proven(side), PROVE_SECONDS, f"events pass {side}", every=1)

    def switch(self, to: str, other: str) -> None:
        """Give one side all traffic, and wait until the other one has settled its events."""
        self.backend.set_weights({to: 100, other: 0}, fence=self.fence)
        eventually(lambda: self._settled(other), DRAIN_SECONDS, f"{other} has settled everything", every=1)

    def park(self, side: str) -> None:
        """Stop a side's code."""
        self.backend.park(side, fence=self.fence)
        eventually(lambda: self._parked(side), 180, f"{side} is parked", every=1)

    def by_traffic(self) -> tuple[str, str]:
        """Both sides, the one with less traffic first."""
        weights = self.backend.weights()
        least, most = sorted(weights, key=lambda side: weights[side])
        return least, most

    def _ready(self, side: str) -> bool:
        return self.backend.readiness(side).ready

    def _proven(self, side: str) -> bool:
        proof = self.backend.prove(side, 20, fence=self.fence)
        assert (proof.changed, proof.refused) == (0, 0), proof
        return proof.arrived == proof.sent == 20

    def _settled(self, side: str) -> bool:
        self.backend.pause_canary(side, fence=self.fence)
        found = self.backend.remains(side)
        return not any(found.lag.values()) and not found.retries

    def _parked(self, side: str) -> bool:
        self.backend.park(side, fence=self.fence)
        return self.backend.deployed(side).parked


def test_nothing_is_lost_while_the_traffic_moves_and_a_side_is_parked(
    live: LiveTwins, tmp_path: Path
) -> None:
    moves, customer = Moves(live), Customer(live, "twins", tmp_path, RATE, BATCH)
    dark, light = moves.by_traffic()
    version = moves.backend.deployed(light).version
    assert moves.backend.deployed(dark).parked
    with customer.busy():
        moves.wake(dark, version)
        moves.switch(dark, light)
        moves.park(light)
        alone = whole_minutes()
        parked = live.memory_bytes()
        moves.wake(light, version)
        moves.switch(light, dark)
        both = live.memory_bytes()
    sys.stdout.write(f"MiB with {light} parked {_megabytes(parked)}, with both {_megabytes(both)}\n")
    assert customer.check().lost == ()
    assert parked[light] < MOST_PARKED_MEGABYTES * MEGABYTE
    assert sum(parked.values()) < MOST_MEGABYTES * MEGABYTE
    cards = [card for card in customer.settled_cards() if card.minute in alone]
    assert {card.minute for card in cards if card.total} == set(alone)
    assert [card.minute for card in cards if card.spent] == []


def test_doctor_checks_the_edge_and_both_sides(live: LiveTwins) -> None:
    found = live.doctor()
    for check in (
        "edge haproxy",
        "edge deploy",
        "edge blue",
        "blue queries",
        "green brokers",
        "green provision",
    ):
        assert re.search(rf"ok .*{check}", found), found


def _megabytes(found: object) -> dict[str, int]:
    assert isinstance(found, dict)
    return {name: size // MEGABYTE for name, size in found.items()}
