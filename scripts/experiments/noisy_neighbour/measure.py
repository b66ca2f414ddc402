"""Measures one phase of the isolation run by its receipts."""

import time
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from msgspec import Struct

from scripts.experiments.harness import cpu
from scripts.experiments.harness.cpu import Seconds
from scripts.experiments.harness.documents import WRITE_KEY
from scripts.experiments.harness.load import offer_load
from scripts.experiments.harness.percentiles import Quantiles, quantiles
from scripts.experiments.harness.runs import Load
from scripts.experiments.harness.side import RunningChain
from scripts.experiments.harness.subprocesses import ChainError
from scripts.experiments.harness.topic_reader import receipts_since
from scripts.experiments.noisy_neighbour.destinations import BAD
from scripts.experiments.noisy_neighbour.documents import GOOD
from scripts.experiments.noisy_neighbour.resource_usage import ResourceUsage, sampled_usage
from shared.runtime.clock import wall_clock

_SETTLE_SECONDS: Final = 5.0
_READ_SECONDS: Final = 120.0
_LEAD_SECONDS: Final = 15.0


class IsolationPhase(Struct, frozen=True, kw_only=True):
    """Figures of one load, with or without the bad destinations."""

    bad: bool = False
    lag: Quantiles
    """Lag of events to the good destinations, from receipt at collect to the response; ms."""

    acked: int
    """Events acknowledged by collect."""

    missing: int
    """Owed deliveries to good destinations that are not made by the end of the phase."""

    doubled: int
    """Deliveries beyond the first to a good destination, by the receipts."""

    moved: int
    """Deliveries to a good destination in the slow lane."""

    cpu: Seconds = {}
    """CPU seconds of the side, by process."""

    bad_results: dict[str, dict[str, int]]
    """Events of each bad destination by lane, breaker and result."""

    bad_requests: dict[str, int] = {}
    held_first: ResourceUsage | None = None
    """Highest usage in the first quarter of the phase."""

    held_last: ResourceUsage | None = None


def measure(chain: RunningChain, load: Load, port: int, *, bad: bool) -> IsolationPhase:
    """Send a load; its first seconds do not count.

    Raises:
        ChainError: if the load generator fails.
        KafkaUnavailableError: if the receipts cannot be read.
    """
    with TemporaryDirectory(prefix="hifi-isolation-") as folder:
        lead = msgspec.structs.replace(load, seconds=_LEAD_SECONDS)
        offer_load(chain.side, WRITE_KEY, lead, Path(folder, "lead.tsv"))
        time.sleep(_SETTLE_SECONDS)
        start_ms = wall_clock()
        used = cpu.used(chain.roots)
        with sampled_usage(chain.side, port) as held:
            sent = offer_load(chain.side, WRITE_KEY, load, Path(folder, "acked.tsv"))
        time.sleep(_SETTLE_SECONDS)
        spent = cpu.since(used, cpu.used(chain.roots))
    chain.check()
    found = _receipts(chain.side.bootstrap, start_ms, sent.acked)
    quarter = max(1, len(held) // 4)
    return msgspec.structs.replace(
        found, bad=bad, cpu=spent, held_first=_most(held[:quarter]), held_last=_most(held[-quarter:])
    )


def _receipts(bootstrap: str, start_ms: int, acked: int) -> IsolationPhase:
    lags: list[int] = []
    moved = 0
    delivered: Counter[tuple[str, str]] = Counter()
    results: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for receipt in receipts_since(bootstrap, start_ms, _READ_SECONDS):
        if receipt.destination in BAD:
            state = f"{receipt.lane} {receipt.breaker} {receipt.result}"
            results[receipt.destination][state] += len(receipt.ids)
        if receipt.destination not in GOOD or receipt.result != "delivered":
            continue
        for event_id, received_ms in zip(receipt.ids, receipt.received_ms, strict=True):
            if received_ms >= start_ms:
                delivered[receipt.destination, event_id] += 1
                lags.append(receipt.departed_ms - received_ms)
                moved += receipt.lane == "slow"
    lag = quantiles(lags)
    if lag is None:
        raise ChainError("nothing was delivered to the good destinations")
    return IsolationPhase(
        lag=lag,
        acked=acked,
        missing=acked * len(GOOD) - len(delivered),
        doubled=delivered.total() - len(delivered),
        moved=moved,
        bad_results={name: dict(counts) for name, counts in results.items()},
    )


def _most(moments: list[ResourceUsage]) -> ResourceUsage | None:
    if not moments:
        return None
    return ResourceUsage(
        **{field: max(getattr(one, field) for one in moments) for field in ResourceUsage.__struct_fields__}
    )
