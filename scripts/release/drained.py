"""Whether a side has sent everything it took: `python -m scripts.release.drained` reads observe's metrics.

Prints what is left, and exits with status 1 while anything is.
"""

import sys
from collections.abc import Mapping
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from shared.contracts.topology import CHAIN_GROUPS
from shared.runtime.metrics import ObserveMetric

_BEHIND_SECONDS: Final = 1.0


def left(metrics: str) -> list[str]:
    """What keeps a side from being parked, in words; nothing if it may be.

    Args:
        metrics: what observe's /metrics answered. A node that it does not name counts as left.
    """
    unread, behind = _unread(metrics)
    unknown = [f"{node}: not known yet" for node in CHAIN_GROUPS if node not in unread]
    waiting = [f"{node}: {count:,.0f} records" for node, count in unread.items() if count]
    late = [] if behind <= _BEHIND_SECONDS else [f"observe: {behind:,.0f} s behind the topics"]
    return [*unknown, *waiting, *late]


def _unread(metrics: str) -> tuple[Mapping[str, float], float]:
    """Unread records by node, and the seconds that observe is behind."""
    unread: dict[str, float] = {}
    behind = float("inf")
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            if sample.name == ObserveMetric.UNREAD:
                unread[sample.labels["node"]] = sample.value
            elif sample.name == ObserveMetric.BEHIND_SECONDS:
                behind = sample.value
    return unread, behind


def main() -> int:
    """Exit status of the process."""
    found = left(sys.stdin.read())
    print("; ".join(found) or "nothing left")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
