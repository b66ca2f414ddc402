"""Two whole sides behind one port: the traffic moves to and fro and a side is parked, and nothing is lost."""

import re
import sys
import time
from pathlib import Path

import pytest

from scripts.load.receiver import Receiver, running
from scripts.load.records import read_acked, read_received
from scripts.load.verify import check_delivery, visible_ids, visible_in
from scripts.local.twins.backend import LocalBackend
from tests.harness.live_side import sending
from tests.harness.live_twins import WARM_UP_SECONDS, LiveTwins
from tests.harness.waiting import eventually

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_600)]

KEY, NAME = "twins-key", "twins"
RATE = 100
READY_SECONDS = 900
DRAIN_SECONDS = 300
PROVE_SECONDS = 300
STEADY_SECONDS = 20
MEGABYTE = 1024**2
MOST_PARKED_MEGABYTES = 2_048


class Moves:
    """The steps of the test, each until it is over."""

    def __init__(self, live: LiveTwins) -> None:
        self.backend = LocalBackend(live.twins, WARM_UP_SECONDS)
        self.fence = int(time.time())  # above those of tests before

    def wake(self, side: str, version: str) -> None:
        """Start a parked side and prove it, without traffic."""
        self.backend.start(side, version, fence=self.fence)
        eventually(lambda: self._ready(side), READY_SECONDS, f"{side} is ready", every=1)
        eventually(lambda: self._proven(side), PROVE_SECONDS, f"events pass {side}", every=1)

    def switch(self, to: str, other: str) -> None:
        """Give one side all traffic, and wait until the other one has settled what it took."""
        self.backend.set_weights({to: 100, other: 0}, fence=self.fence)
        eventually(lambda: self._settled(other), DRAIN_SECONDS, f"{other} has settled everything", every=1)

    def park(self, side: str) -> None:
        """Stop a side's code."""
        self.backend.park(side, fence=self.fence)
        eventually(lambda: self._parked(side), 180, f"{side} is parked", every=1)

    def _ready(self, side: str) -> bool:
        return self.backend.readiness(side).ready

    def _proven(self, side: str) -> bool:
        proof = self.backend.prove(side, 20, fence=self.fence)
        assert (proof.changed, proof.refused) == (0, 0), proof
        return proof.arrived == proof.sent == 20

    def _settled(self, side: str) -> bool:
        found = self.backend.remains(side)
        return not any(found.lag.values()) and not found.retries

    def _parked(self, side: str) -> bool:
        self.backend.park(side, fence=self.fence)
        return self.backend.deployed(side).parked


def test_nothing_is_lost_while_the_traffic_moves_and_a_side_is_parked(
    live: LiveTwins, tmp_path: Path
) -> None:
    acked, received = tmp_path / "acked.tsv", tmp_path / "received.tsv"
    moves = Moves(live)
    version = moves.backend.deployed("blue").version
    assert moves.backend.deployed("green").parked
    with running(Receiver(out=received)) as receiver:
        live.apply(*_documents(f"{receiver.url}/{NAME}"))
        counts = receiver.counts(f"/{NAME}")
        with sending(live.twins.edge.events_url, key=KEY, rate=RATE, batch=1, acked=acked, seconds=3_600):
            eventually(lambda: counts.distinct > STEADY_SECONDS * RATE, 300, "events flow through blue")
            moves.wake("green", version)
            moves.switch("green", "blue")
            moves.park("blue")
            seen = counts.distinct
            eventually(lambda: counts.distinct > seen + STEADY_SECONDS * RATE, 300, "green alone delivers")
            parked = live.memory_bytes()
            moves.wake("blue", version)
            moves.switch("blue", "green")
            both = live.memory_bytes()
        promised = {row.event_id for row in read_acked(acked)}
        eventually(lambda: promised <= counts.seen, DRAIN_SECONDS, "all events arrive", every=1)
        time.sleep(1)  # the receiver writes its file twice a second
    waiting = {each for side in live.twins.sides for each in visible_in(NAME, visible_ids(side.bootstrap))}
    check = check_delivery(promised, [row.event_id for row in read_received(received)], waiting)
    cards = [card for side in ("blue", "green") for card in live.minutes(side, NAME)]
    spent = sorted({card.minute for card in cards if card.spent})
    sys.stdout.write(
        f"acked {check.acked:,}, lost {len(check.lost)}, doubled {check.duplicated}, minutes spent "
        f"{len(spent)} of {len({card.minute for card in cards})}; MiB with blue parked {_megabytes(parked)}, "
        f"with both {_megabytes(both)}\n"
    )
    assert check.lost == ()
    assert sum(card.lost for card in cards) == 0
    assert parked["blue"] < MOST_PARKED_MEGABYTES * MEGABYTE


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


def _documents(url: str) -> list[dict[str, object]]:
    own = {"name": NAME, "tenant": NAME}
    return [
        {"kind": "source", **own, "write_keys": [KEY]},
        {"kind": "destination", **own, "options": {"url": url}},
        {"kind": "pipe", **own, "source": NAME, "destination": NAME},
    ]
