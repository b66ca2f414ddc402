"""Trial: a destination is down for a while and comes back. Accounts for its events and the others'."""

import time
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
from msgspec import Struct

from pipelines.data.transmit.admission.circuit_breaker import BreakerThresholds
from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.load import load_process
from scripts.experiments.harness.percentiles import Quantiles, quantiles
from scripts.experiments.harness.runs import Load
from scripts.experiments.outage.harness import (
    KEY,
    NAME,
    Delivery,
    Say,
    configured,
    deliveries,
    handed_on,
)
from scripts.load.receiver import PathCounts, Receiver, running
from scripts.load.records import read_acked
from scripts.load.verify import DeliveryCheck, check_delivery, visible_ids, visible_in
from scripts.local.side import Side
from shared.contracts.topics import RETRY_DELAYS
from shared.runtime.clock import wall_clock

DOWN: Final = "trial-down"
PHASES: Final = ("before", "down", "after")
_PAUSE_SECONDS: Final = 0.5
_SHORTEST_WAIT_MS: Final = min(RETRY_DELAYS.values()) // timedelta(milliseconds=1)
_SPARE_SECONDS: Final = 60.0
_SLOWER: Final = 1.5
_SLOWER_MS: Final = 250.0
"""Allowed increase of the others' p95, which a busy machine causes by itself: factor and milliseconds."""


class OutagePlan(Struct, frozen=True, kw_only=True):
    """Durations in seconds."""

    rate: int = 200
    """Events per second, to each destination."""

    steady: int = 4
    """Destinations that stay up."""

    lead: float = 10.0
    """Load that counts for losses only."""

    before: float = 60.0
    outage: float = 600.0
    after: float = 120.0

    @property
    def load(self) -> Load:
        """The load that is sent."""
        return Load(rate=self.rate, batch=1, seconds=self.lead + self.before + self.outage + self.after)


class PhaseTimes(Struct, frozen=True, kw_only=True):
    """Start times of the phases, epoch milliseconds."""

    begun: int
    down: int
    back: int
    end: int

    def phase(self, at_ms: int) -> str | None:
        """The phase of a time; None outside all phases."""
        if not self.begun <= at_ms < self.end:
            return None
        return PHASES[(at_ms >= self.down) + (at_ms >= self.back)]


class Drain(Struct, frozen=True, kw_only=True):
    """How the backlog was delivered."""

    events: int
    """Events that arrived after waiting in a retry topic."""

    seconds: float
    """Time from the destination's return to the last of them."""

    most_a_second: int
    median_a_second: float
    """Over the seconds in which any arrived."""


class OutageResult(Struct, frozen=True, kw_only=True):
    """Figures of an outage trial."""

    plan: OutagePlan
    fates: Mapping[str, DeliveryCheck]
    """Outcome of the acknowledged events, by destination."""

    lags: Mapping[str, Quantiles | None]
    """Lags of the destinations that stayed up, by phase; milliseconds inside hifi."""

    drain: Drain
    handed_on: Mapping[str, int]
    """Events that went to the slow lane, by destination; some of them may have arrived twice."""


def bounds(found: OutageResult) -> list[Bound]:
    """Bounds: nothing lost, and the others hardly later while one destination is down."""
    before, down = found.lags["before"], found.lags["down"]
    return [
        Bound(
            what="lost",
            figure=sum(len(fate.lost) for fate in found.fates.values()),
            most=0,
            unit="events",
        ),
        Bound(
            what="p95 of the others while one is down",
            figure=down.p95 if down else None,
            most=_SLOWER * before.p95 + _SLOWER_MS if before else 0.0,
            unit="ms",
        ),
    ]


def back_within(outage: float) -> float:
    """Upper bound of the time until all waiting events have left retry, in seconds after an outage.

    The breaker may stay open for as long as the outage lasted. An event delayed just before the end waits for
    the delay of its attempt, and for half of that again if many are due at once.
    """
    tried_until = 0.0
    for delay in (delay.total_seconds() for delay in RETRY_DELAYS.values()):
        tried_until += delay
        if outage < tried_until:
            break
    return min(outage, BreakerThresholds().pause_limit) + 1.5 * delay


def run(side: Side, plan: OutagePlan, folder: Path, say: Say) -> OutageResult:
    """Send the load, stop the destination, start it again, and wait until everything has arrived.

    Raises:
        ChainError: if the load generator fails.
        PublishError: if the brokers do not take the documents.
        KafkaUnavailableError: if the brokers do not answer.
    """
    well, ill, acked = Receiver(), Receiver(), folder / "acked.tsv"
    steady = [f"trial-{number}" for number in range(1, plan.steady + 1)]
    with running(well):
        with running(ill):  # to learn its port
            urls = {name: f"{well.url}/{name}" for name in steady} | {DOWN: f"{ill.url}/{DOWN}"}
        with configured(side, urls):
            marks = _phases(side, plan, ill, acked, say)
        promised = {row.event_id for row in read_acked(acked)}
        visible = visible_ids(side.bootstrap)
        fates = {
            name: _fate(promised, counts, visible_in(name, visible))
            for name, counts in ((n, (ill if n == DOWN else well).counts(f"/{n}")) for n in urls)
        }
    lags, drain = measured(deliveries(side.bootstrap, marks.begun), marks)
    slow = handed_on(side.bootstrap, marks.begun)
    return OutageResult(
        plan=plan, fates=fates, lags=lags, drain=drain, handed_on={name: slow[name] for name in urls}
    )


def _phases(side: Side, plan: OutagePlan, ill: Receiver, acked: Path, say: Say) -> PhaseTimes:
    with load_process(side, KEY, plan.load, acked) as load:
        with running(ill):
            say(f"{plan.before:.0f} s with all destinations up")
            time.sleep(plan.lead)
            begun = wall_clock()
            time.sleep(plan.before)
            down = wall_clock()
        say(f"{plan.outage:.0f} s with one of {plan.steady + 1} down")
        time.sleep(plan.outage)
        with running(ill):
            back = wall_clock()
            say(f"{plan.after:.0f} s with it back")
            sent = load.result(plan.load.seconds)
            end, longest = wall_clock(), back_within(plan.outage)
            say(f"{sent.acked:,} events acknowledged; waiting ones leave retry within {longest:.0f} s")
            seen = ill.counts(f"/{DOWN}").seen
            deadline = time.monotonic() + longest + _SPARE_SECONDS
            while len(seen) < sent.acked and time.monotonic() < deadline:
                time.sleep(_PAUSE_SECONDS)
    return PhaseTimes(begun=begun, down=down, back=back, end=end)


def _fate(promised: set[str], counts: PathCounts, visible: set[str]) -> DeliveryCheck:
    found = check_delivery(promised, counts.seen, visible)
    return msgspec.structs.replace(found, duplicated=counts.duplicated)


def measured(arrived: Iterable[Delivery], marks: PhaseTimes) -> tuple[dict[str, Quantiles | None], Drain]:
    """Lags of the destinations that stayed up, by the phase in which hifi received the event, and the drain.

    Only the part of the drain during which the load runs has a phase.
    """
    lags: dict[str, array[int]] = {phase: array("q") for phase in PHASES}
    seconds: Counter[int] = Counter()
    last_ms = marks.back
    for one in arrived:
        if one.pipe != DOWN:
            if one.pipe.startswith(NAME) and (phase := marks.phase(one.received_ms)):
                lags[phase].append(one.lag_ms)
        elif one.lag_ms >= _SHORTEST_WAIT_MS:
            seconds[one.departed_ms // 1000] += 1
            last_ms = max(last_ms, one.departed_ms)
    rates = sorted(seconds.values()) or [0]
    drain = Drain(
        events=seconds.total(),
        seconds=(last_ms - marks.back) / 1000,
        most_a_second=rates[-1],
        median_a_second=median(rates),
    )
    return {phase: quantiles(found) for phase, found in lags.items()}, drain
