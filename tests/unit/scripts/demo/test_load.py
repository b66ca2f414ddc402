"""The demo's totals: a missing event is lost only if the chain has read everything."""

import asyncio
import io
import time
from collections.abc import Sequence

import pytest
from rich.console import Console

from scripts.demo import load
from scripts.demo.account import EVERYTHING, pipe_result
from scripts.demo.load import Demo, DemoLoad
from scripts.demo.screen import DemoState, DemoTotals, summary
from scripts.load import verify
from scripts.load.receiver import PathCounts, Receiver
from scripts.load.telemetry import Telemetry
from shared.contracts.topology import CHAIN_GROUPS
from shared.kafka.consumer_lag import Lag

IDS = ["a", "b"]


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


def totals_of(
    monkeypatch: pytest.MonkeyPatch,
    receiver: Receiver,
    looks: Sequence[tuple[str, int]],
    seconds: float = 60.0,
) -> DemoTotals:
    """Totals of events that neither arrived nor wait; each look finds records that a node has not read.

    The chain is looked at for some seconds, or until it has read everything.
    """
    left = list(looks)

    def lags(_: object) -> list[Lag]:
        behind, records = left.pop(0) if len(left) > 1 else left[0]
        counts = dict.fromkeys(CHAIN_GROUPS, 0) | {behind: records}
        return [Lag(node=node, records=count, ahead=count) for node, count in counts.items()]

    monkeypatch.setattr(verify, "lags", lags)
    monkeypatch.setattr(verify, "_LOOKS_SECONDS", seconds)
    monkeypatch.setattr(verify, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(load, "visible_ids", lambda _: set())
    source = Telemetry("run")
    plan = DemoLoad(
        url="http://127.0.0.1:9", bootstraps=["x"], source=source, kind_of=None, rate=1, batch=1, seconds=1
    )
    demo = Demo(plan, receiver, lambda _: None, 1.0)
    return demo.totals([pipe_result(EVERYTHING, IDS, None, PathCounts())])


@pytest.mark.parametrize("node", ["ingest", "route", "transmit", "transmit_slow"])
def test_events_are_on_the_way_while_a_node_has_not_read_all(
    node: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = totals_of(monkeypatch, receiver, [(node, 1)], seconds=0.05)
    assert (totals.lost, totals.on_the_way, totals.good) == (0, 2, False)


def test_events_are_lost_if_the_chain_has_read_everything_be_it_for_a_moment(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = totals_of(monkeypatch, receiver, [("ingest", 3), ("ingest", 0), ("ingest", 3)])
    assert (totals.lost, totals.on_the_way) == (2, 0), "hifi's own events are always under way somewhere"


def test_what_waits_for_a_retry_does_not_make_a_loss_look_like_a_delay(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert totals_of(monkeypatch, receiver, [("retry", 7)]).lost == 2


def test_an_event_that_arrives_while_it_is_searched_for_is_not_lost(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.counts(EVERYTHING.path).add(["a"], [1])
    totals = totals_of(monkeypatch, receiver, [("ingest", 0)])
    assert (totals.lost, totals.on_the_way) == (1, 1)


async def interrupted_while_it_waits(receiver: Receiver) -> float:
    """Seconds from Ctrl-C to the end of a load that was acknowledged but never arrives."""
    stopping, shown, every = asyncio.Event(), list[DemoState](), 0.05
    async with Receiver() as collect:
        source = Telemetry("run")
        plan = DemoLoad(
            url=collect.url, bootstraps=[], source=source, kind_of=None, rate=100, batch=10, seconds=0.1
        )
        running = asyncio.create_task(Demo(plan, receiver, shown.append, every).run(stopping))
        known = -1
        while known != len(shown) or collect.arrivals < 10:  # it shows nothing while it waits
            known = len(shown)
            await asyncio.sleep(4 * every)
        assert not running.done()
        began = time.monotonic()
        stopping.set()
        await running
        return time.monotonic() - began


def test_ctrl_c_ends_the_wait_for_events_under_way(receiver: Receiver) -> None:
    assert asyncio.run(interrupted_while_it_waits(receiver)) < 30


def test_the_summary_of_a_side_that_is_behind_speaks_of_no_loss() -> None:
    behind = DemoTotals(
        sent=9, acked=9, refused=0, unacknowledged=0, waiting=0, on_the_way=2, lost=0, seconds=1.0
    )
    screen = io.StringIO()
    Console(file=screen, width=100).print(summary(behind, []))
    said = screen.getvalue()
    assert "2 deliveries are not made yet: the side is behind" in said
    assert "lost" not in said
    assert not behind.good
