"""A steady load with something done to the side in its middle."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from scripts.experiments.harness.documents import NAME, WRITE_KEY
from scripts.experiments.harness.lateness import Lateness, lateness, p95_by_second
from scripts.experiments.harness.load import load_process
from scripts.experiments.harness.measure import LineCounter, destination
from scripts.experiments.harness.reconciliation import LoadReconciliation, reconcile
from scripts.experiments.harness.runs import Load
from scripts.experiments.harness.side import RunningChain
from scripts.load.records import read_acked, read_received
from scripts.load.verify import visible_ids, visible_in
from shared.runtime.clock import wall_clock

BEFORE_SECONDS: Final = 20.0
_SHOWN_SECONDS: Final = 10


class Disturbance(Struct, frozen=True, kw_only=True):
    """Figures of a load that was disturbed."""

    lateness: Lateness
    delivery: LoadReconciliation
    p95_ms: list[float]
    """Values for each second of sending, from ten seconds before the disturbance."""


def disturbed(
    chain: RunningChain, load: Load, port: int, disturb: Callable[[], Callable[[], None]]
) -> Disturbance:
    """Send a load, and disturb the side after BEFORE_SECONDS of it.

    Args:
        chain: the side, with the experiments' documents.
        load: longer than BEFORE_SECONDS.
        port: of the destination.
        disturb: is called while the load goes on, and returns what is to be done beside the rest of it.

    Raises:
        ChainError: if the load generator or the destination ends.
        OperatorError: what `disturb`, or the rest of it, raises.
    """
    with TemporaryDirectory(prefix="hifi-over-") as folder:
        acked, received = Path(folder, "acked.tsv"), Path(folder, "received.tsv")
        with destination(port, received):
            arrivals = LineCounter(received)
            with load_process(chain.side, WRITE_KEY, load, acked) as offered:
                time.sleep(BEFORE_SECONDS)
                begun_ms = wall_clock()
                with ThreadPoolExecutor(1) as beside:
                    rest = beside.submit(disturb())
                    sent = offered.result(load.seconds)
                    rest.result()
            arrivals.drain(sent.acked)
        rows = list(read_received(received))
        found = reconcile(
            read_acked(acked), rows, lambda: visible_in(NAME, visible_ids(chain.side.bootstrap))
        )
    by_second = p95_by_second(rows)
    return Disturbance(
        lateness=lateness(by_second, begun_ms),
        delivery=found,
        p95_ms=[lag for second, lag in by_second.items() if second >= begun_ms // 1_000 - _SHOWN_SECONDS],
    )
