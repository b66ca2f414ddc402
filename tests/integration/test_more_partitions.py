"""A side starts with more partitions than before: waiting events in the old ones and new events arrive."""

import sys
from pathlib import Path
from typing import Final

import pytest

from shared.contracts.topics import Topic
from tests.harness.live_side import LiveSide
from tests.harness.meter_processes import Meter, shown
from tests.harness.topics import Topics
from tests.harness.waiting import eventually
from tests.integration.scene import Scene, end_with_a_pipe
from tests.integration.tenant import judged, minute_now

pytestmark = pytest.mark.proof

PARTITIONS: Final = 4
RATE: Final = 100
WAITING: Final = 500
"""Events that are in the old partitions, unread by any node, when the side stops."""


def test_a_side_that_starts_with_more_partitions_loses_nothing_and_its_meter_counts_each_event(
    tmp_path: Path,
) -> None:
    live = LiveSide.fresh(tmp_path)
    grown = LiveSide(live.side.root, live.side.port, {}, ("--partitions", str(PARTITIONS)))
    topics = Topics(live.bootstrap)
    try:
        live.up()
        first = minute_now()
        with end_with_a_pipe(live, tmp_path / "received.tsv") as end:
            scene = Scene(live, end, tmp_path, RATE)

            def start_with_more() -> None:
                live.supervisor.stop_program("spark")
                goal = len(scene.acked()) + WAITING
                eventually(lambda: len(scene.acked()) >= goal, 120, "events wait", every=0.5)
                assert _partitions(topics, Topic.COLLECTED) == {0, 1}
                assert live.terminate() == 0
                grown.up()

            found = scene.run(start_with_more)
            assert (found.lost, found.waiting, found.duplicated) == ((), 0, 0)
            for topic in (Topic.COLLECTED, Topic.EVENTS, Topic.OUTBOUND, Topic.RECEIPTS):
                assert _partitions(topics, topic) == set(range(PARTITIONS)), topic
            cards = judged(Meter(live.side.observe_port), "faults", first, minute_now())
        assert sum(card.collected for card in cards) >= len(scene.acked()), shown(cards)
        assert sum(card.lost + card.under_way + card.waiting for card in cards) == 0, shown(cards)
        assert sum(card.doubled for card in cards) == 0, shown(cards)
        sys.stdout.write(f"{found.received:,} events, 0 lost, 0 doubled\n")
        assert grown.terminate() == 0
        assert not grown.processes(), "a process is left"
    finally:
        sys.stdout.write(grown.log_tails())
        grown.end()
        live.end()


def _partitions(topics: Topics, topic: Topic) -> set[int | None]:
    """The partitions with records."""
    return {record.partition() for record in topics.all_of(topic)}
