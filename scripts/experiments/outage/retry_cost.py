"""Trial: the cost of events that need a second attempt for the others, by alternating pairs of runs."""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

from msgspec import Struct

from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.load import load_process
from scripts.experiments.harness.pairs import in_turns
from scripts.experiments.harness.percentiles import Quantiles, quantiles
from scripts.experiments.harness.runs import Load
from scripts.experiments.harness.subprocesses import ChainError
from scripts.experiments.outage.harness import KEY, Delivery, Say, configured, deliveries
from scripts.load.fault_injection import FaultInjection, Rule, parse_rule
from scripts.load.receiver import Receiver, running
from scripts.load.records import read_acked
from scripts.load.verify import check_delivery, visible_ids, visible_in
from scripts.local.side import Side
from shared.contracts.documents import Batch
from shared.contracts.topics import RETRY_DELAYS
from shared.runtime.clock import wall_clock

PIPE: Final = "trial-retry-cost"
_SINGLE: Final = Batch(max_events=1)
"""One event per request, so that a share of the requests is that share of the events."""

MOST_RATIO: Final = 1.25
"""Highest ratio of p95, in the median of the pairs; single pairs vary by a third on a busy machine."""

_PAUSE_SECONDS: Final = 0.2
_SPARE_SECONDS: Final = 30.0


class RetryCostPlan(Struct, frozen=True, kw_only=True):
    """Durations in seconds."""

    rate: int = 200
    pairs: int = 5
    seconds: float = 40.0
    """Duration of each run."""

    percent: float = 1.0
    """Percent of requests, one per event, that are answered with 429."""

    warm_up: float = 30.0
    """Load that does not count."""

    @property
    def rule(self) -> Rule:
        """429 without Retry-After, which is never retried at once."""
        return parse_rule(f"429={self.percent:g}%")


class RetryRun(Struct, frozen=True, kw_only=True):
    """Figures of one run."""

    later: float
    """Share of the events that arrived at a later attempt."""

    lag: Quantiles
    """Lag of all events, delayed ones included; milliseconds inside hifi."""

    lost: int


class RetryPair(Struct, frozen=True, kw_only=True):
    """A run without delayed events and one with them, one right after the other."""

    well: RetryRun
    delayed: RetryRun

    @property
    def ratio(self) -> float:
        """Ratio of p95 with delayed events to that without."""
        return self.delayed.lag.p95 / self.well.lag.p95


class RetryCostResult(Struct, frozen=True, kw_only=True):
    """Figures of a retry-cost trial."""

    plan: RetryCostPlan
    pairs: list[RetryPair]
    ratio: float
    """Median of the pairs' ratios."""


def run(side: Side, plan: RetryCostPlan, folder: Path, say: Say) -> RetryCostResult:
    """Measure pairs of runs without and with delayed events.

    Raises:
        ChainError: if the load generator fails.
        PublishError: if the brokers do not take the documents.
        KafkaUnavailableError: if the brokers do not answer.
    """
    with running(Receiver()) as receiver, configured(side, {PIPE: f"{receiver.url}/{PIPE}"}, _SINGLE):
        _offered(side, receiver, plan.rate, plan.warm_up, folder / "warm-up.tsv")
        pairs: list[RetryPair] = []
        well, delayed = (_measures(side, receiver, plan, rules, folder) for rules in ([], [plan.rule]))
        for pair in in_turns(plan.pairs, well, delayed):
            pairs.append(RetryPair(well=pair[0], delayed=pair[1]))
            say(_line(pairs[-1]))
    return RetryCostResult(plan=plan, pairs=pairs, ratio=median(pair.ratio for pair in pairs))


def bounds(found: RetryCostResult) -> list[Bound]:
    """Bounds: nothing lost, and p95 hardly higher with delayed events."""
    lost = sum(run.lost for pair in found.pairs for run in (pair.well, pair.delayed))
    return [
        Bound(what="lost", figure=lost, most=0, unit="events"),
        Bound(
            what="p95 with delayed events, in the median of the pairs",
            figure=found.ratio,
            most=MOST_RATIO,
            unit="times that without",
        ),
    ]


def _measures(
    side: Side, receiver: Receiver, plan: RetryCostPlan, rules: list[Rule], folder: Path
) -> Callable[[int], RetryRun]:
    """A function that measures one run while the receiver follows the rules."""
    name = "delayed" if rules else "well"
    return lambda number: _one(side, receiver, plan, rules, folder / f"{number}-{name}.tsv")


def _one(side: Side, receiver: Receiver, plan: RetryCostPlan, rules: list[Rule], acked: Path) -> RetryRun:
    receiver.misbehaviour = FaultInjection(rules)
    began = wall_clock()
    promised = _offered(side, receiver, plan.rate, plan.seconds, acked)
    seen = receiver.counts(f"/{PIPE}").seen
    visible = visible_in(PIPE, visible_ids(side.bootstrap)) if promised - seen else set()
    found: list[Delivery] = []

    def unwritten() -> bool:
        """Whether receipts are still missing."""
        read = deliveries(side.bootstrap, began)
        found[:] = [one for one in read if one.pipe == PIPE and one.received_ms >= began]
        return len(found) < len(promised & seen)

    _wait(unwritten, _SPARE_SECONDS)
    later = sum(one.attempt > 1 for one in found)
    lag = quantiles(one.lag_ms for one in found)
    if lag is None:
        raise ChainError("nothing was delivered to the trial's destination: `hifi doctor` says why")
    return RetryRun(later=later / len(found), lag=lag, lost=len(check_delivery(promised, seen, visible).lost))


def _offered(side: Side, receiver: Receiver, rate: int, seconds: float, acked: Path) -> set[str]:
    """Send a load and wait until it has arrived, retries included; returns the acknowledged ids."""
    put_off = receiver.requests.misbehaved
    with load_process(side, KEY, Load(rate=rate, batch=1, seconds=seconds), acked) as load:
        load.result(seconds)
    promised = {row.event_id for row in read_acked(acked)}
    seen = receiver.counts(f"/{PIPE}").seen

    def open_tries() -> bool:
        return len(promised - seen) > receiver.requests.misbehaved - put_off

    _wait(open_tries, _SPARE_SECONDS)
    receiver.misbehaviour = FaultInjection()
    first_delay = next(iter(RETRY_DELAYS.values())).total_seconds()
    _wait(lambda: bool(promised - seen), 1.5 * first_delay + _SPARE_SECONDS)
    return promised


def _wait(unfinished: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while unfinished() and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)


def _line(pair: RetryPair) -> str:
    return (
        f"p95 {pair.well.lag.p95:.0f} ms without delayed events, {pair.delayed.lag.p95:.0f} ms with"
        f" {pair.delayed.later:.1%} delayed: x{pair.ratio:.2f}"
    )
