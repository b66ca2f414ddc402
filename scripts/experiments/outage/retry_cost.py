"""One event of a hundred needs the global tier: what that costs the others. Paired runs, taking turns."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

from msgspec import Struct

from scripts.experiments.bench.percentiles import Quantiles, quantiles
from scripts.experiments.bench.results import Load
from scripts.experiments.outage.harness import Delivery, Say, configured, deliveries, offering
from scripts.load.fault_injection import Misbehaviour, Rule, parse_rule
from scripts.load.receiver import Receiver, running
from scripts.load.records import read_acked
from scripts.load.verify import verdict, visible_ids, visible_in
from scripts.local.side import Side
from shared.contracts.documents import Batch
from shared.contracts.topics import RETRY_DELAYS
from shared.runtime.clock import wall_clock

PIPE: Final = "trial-tier"
_SINGLE: Final = Batch(max_events=1)
"""A request an event, so that a share of the requests is that share of the events."""

_PAUSE_SECONDS: Final = 0.2
_SPARE_SECONDS: Final = 30.0


class Plan(Struct, frozen=True, kw_only=True):
    """Lengths in seconds."""

    rate: int = 200
    pairs: int = 5
    seconds: float = 40.0
    """Of each run."""

    percent: float = 1.0
    """Of the requests, one an event, that are told to come again later."""

    warm_up: float = 30.0
    """Of load that does not count."""

    @property
    def rule(self) -> Rule:
        """429 without Retry-After is never tried again at once."""
        return parse_rule(f"429={self.percent:g}%")


class Run(Struct, frozen=True, kw_only=True):
    """One run."""

    later: float
    """Share of the events that arrived at a later attempt than their first."""

    lag: Quantiles
    """Of all events, those that came later included; milliseconds inside hifi."""

    lost: int


class Pair(Struct, frozen=True, kw_only=True):
    """A run with all well, and one with some events delayed, one right after the other."""

    well: Run
    delayed: Run

    @property
    def ratio(self) -> float:
        """p95 of the second against the first."""
        return self.delayed.lag.p95 / self.well.lag.p95


class Found(Struct, frozen=True, kw_only=True):
    """What a trial found."""

    plan: Plan
    pairs: list[Pair]
    ratio: float
    """Median of the pairs' ratios."""


def run(side: Side, plan: Plan, folder: Path, say: Say) -> Found:
    """Take turns; every second pair begins with the delayed run, so that a slow minute favours neither.

    Raises:
        ChainError: if the load generator fails.
        PublishError: if the brokers do not take the documents.
        KafkaException: if the brokers do not answer.
        TimeoutError: if the topics could not be read.
    """
    with running(Receiver()) as receiver, configured(side, {PIPE: f"{receiver.url}/{PIPE}"}, _SINGLE):
        _offered(side, receiver, plan.rate, plan.warm_up, folder / "warm-up.tsv")
        pairs: list[Pair] = []
        for number in range(plan.pairs):
            kinds = ("well", "delayed") if number % 2 == 0 else ("delayed", "well")
            runs = {kind: _one(side, receiver, plan, kind, folder / f"{number}-{kind}.tsv") for kind in kinds}
            pairs.append(Pair(**runs))
            say(_line(pairs[-1]))
    return Found(plan=plan, pairs=pairs, ratio=median(pair.ratio for pair in pairs))


def _one(side: Side, receiver: Receiver, plan: Plan, kind: str, acked: Path) -> Run:
    receiver.misbehaviour = Misbehaviour([plan.rule] if kind == "delayed" else [])
    began = wall_clock()
    promised = _offered(side, receiver, plan.rate, plan.seconds, acked)
    seen = receiver.tally(f"/{PIPE}").seen
    visible = visible_in(PIPE, visible_ids(side.bootstrap)) if promised - seen else set()
    found: list[Delivery] = []

    def unwritten() -> bool:
        """Whether the last receipts are not there yet."""
        read = deliveries(side.bootstrap, began)
        found[:] = [one for one in read if one.pipe == PIPE and one.received_ms >= began]
        return len(found) < len(promised & seen)

    _wait(unwritten, _SPARE_SECONDS)
    later = sum(one.attempt > 1 for one in found)
    lag = quantiles(one.lag_ms for one in found)
    if lag is None:
        raise TimeoutError("nothing was delivered")
    return Run(later=later / len(found), lag=lag, lost=len(verdict(promised, seen, visible).lost))


def _offered(side: Side, receiver: Receiver, rate: int, seconds: float, acked: Path) -> set[str]:
    """Offer a load and wait until it has arrived, also by the second attempt; gives what was acknowledged."""
    put_off = receiver.requests.misbehaved
    with offering(side, Load(rate=rate, batch=1, seconds=seconds), acked) as load:
        load.result(seconds)
    promised = {row.event_id for row in read_acked(acked)}
    seen = receiver.tally(f"/{PIPE}").seen

    def open_tries() -> bool:
        return len(promised - seen) > receiver.requests.misbehaved - put_off

    _wait(open_tries, _SPARE_SECONDS)
    receiver.misbehaviour = Misbehaviour()
    first_delay = next(iter(RETRY_DELAYS.values())).total_seconds()
    _wait(lambda: bool(promised - seen), 1.5 * first_delay + _SPARE_SECONDS)
    return promised


def _wait(unfinished: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while unfinished() and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)


def _line(pair: Pair) -> str:
    return (
        f"p95 {pair.well.lag.p95:.0f} ms with all well, {pair.delayed.lag.p95:.0f} ms with"
        f" {pair.delayed.later:.1%} later: x{pair.ratio:.2f}"
    )
