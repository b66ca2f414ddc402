"""The rating of a chain: the highest rate that it holds, found by trials under load."""

import time
from collections.abc import Callable

from msgspec import Struct

from scripts.experiments.harness.measure import Bench
from scripts.experiments.harness.runs import Load, Run
from scripts.experiments.harness.search import Length, SearchRange, Trial, held_rate, next_trial

HELD_P95_MS = 1_000.0
HELD_SHARE = 0.99
SLIP_MS = 250.0
"""Lateness of the load generator (p99) beyond which it did not send the planned load."""

Say = Callable[[str], None]


class Rating(Struct, frozen=True, kw_only=True):
    """The highest rate that was held, and the trials of the search."""

    rate: int
    """Events per second; 0 if no rate was held."""

    trials: list[Trial]
    runs: list[Run]
    complaints: list[str]
    """Why each trial did not hold; empty for one that did."""

    cut_short: bool = False
    """Whether the search ran out of time."""


class SearchPlan(Struct, frozen=True, kw_only=True):
    """Range and durations of a search; seconds."""

    bounds: SearchRange
    batch: int
    """Events per request to collect."""

    probe_seconds: float
    hold_seconds: float
    search_seconds: float
    """No trial starts later than this."""


def complaint(run: Run) -> str:
    """The gravest reason why a run did not hold; empty if it did."""
    sent, lag = run.sent, run.lag
    reasons = (
        (run.lost > 0, f"{run.lost} acknowledged events lost"),
        (sent.slip_p99_ms > SLIP_MS, f"the load generator was {sent.slip_p99_ms:.0f} ms late (p99)"),
        (sent.acked < HELD_SHARE * sent.events, f"{sent.acked} of {sent.events} events acknowledged"),
        (run.waiting > (1 - HELD_SHARE) * sent.acked, f"{run.waiting} events wait for a retry"),
        (lag is None, "nothing arrived"),
        (lag is not None and lag.p95 > HELD_P95_MS, f"p95 {lag.p95 if lag else 0:.0f} ms"),
    )
    return next((text for applies, text in reasons if applies), "")


def search_rating(bench: Bench, plan: SearchPlan, say: Say) -> Rating:
    """Search the highest rate that is held.

    Raises:
        ChainError: if a process of the chain, the load generator or the destination ends.
    """
    trials: list[Trial] = []
    runs: list[Run] = []
    deadline = time.monotonic() + plan.search_seconds
    while ask := next_trial(trials, plan.bounds):
        if time.monotonic() > deadline:
            break
        seconds = plan.hold_seconds if ask.length is Length.HOLD else plan.probe_seconds
        say(f"{bench.chain.name}: rating, {ask.length} at {ask.rate:,}/s")
        run = bench.run(Load(rate=ask.rate, batch=plan.batch, seconds=seconds))
        runs.append(run)
        trials.append(Trial(ask.rate, ask.length, held=not complaint(run)))
        say(f"{bench.chain.name}: {ask.rate:,}/s {complaint(run) or 'held'}")
    return Rating(
        rate=held_rate(trials),
        trials=trials,
        runs=runs,
        complaints=[complaint(run) for run in runs],
        cut_short=next_trial(trials, plan.bounds) is not None,
    )
