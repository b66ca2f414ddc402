"""Whether events go through a side: `python -m scripts.release.verified` reads the canary's metrics.

Prints what is not proven yet, and exits with status 1 while anything is not.
"""

import sys
from typing import Final

from pipelines.control.backends.aws.canary_metrics import TOTAL, values_by_pipe
from shared.runtime.metrics import CanaryMetric

EVENTS: Final = 30
"""Of each pipe; at two events a second they take a quarter of a minute."""


def unproven(metrics: str) -> list[str]:
    """What keeps a side from getting traffic, in words; nothing if it may.

    Args:
        metrics: what the canary's /metrics answered: a process that began with this release.
    """
    found = values_by_pipe(metrics)
    arrived = found[CanaryMetric.ARRIVED + TOTAL]
    few = [
        f"{pipe}: {count:.0f} of {EVENTS} events arrived" for pipe, count in arrived.items() if count < EVENTS
    ]
    wrong = found[CanaryMetric.WRONG + TOTAL]
    changed = [f"{pipe}: {count:.0f} events arrived changed" for pipe, count in wrong.items() if count]
    missing = found[CanaryMetric.MISSING]
    lost = [
        f"{pipe}: {count:.0f} acknowledged events are missing" for pipe, count in missing.items() if count
    ]
    return [*(few if arrived else ["the canary names no pipe"]), *changed, *lost]


def main() -> int:
    """Exit status of the process."""
    found = unproven(sys.stdin.read())
    print("; ".join(found) or "proven")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
