"""How long a version that was just started is late because it still compiles. Pure.

A minute after the first is cold while its share of late events is at most half of the minute before: it falls
while a version warms up, and does not if the version is slow. On a machine that two sides fill and that has
slow memory, 7.5 % of a good version's events were late in its second whole minute (docs/proofs.md).
"""

from collections.abc import Sequence
from enum import Enum, auto
from itertools import pairwise
from typing import Final

from pipelines.control.deploy.backend import SideMinute
from pipelines.control.deploy.judging.minute_values import Pair, Pairs
from shared.contracts.release_steps import Kind
from shared.contracts.releases import Release

COLD_MINUTES: Final = 1
"""The first whole minute with traffic is cold. A version that was just started still compiles: in that
minute p95 was 313 to 659 ms, by how warm it was, and cold JVMs used 213 to 355 CPU seconds per million events
where warm ones use 83 (docs/performance.md). Of its events up to 29 % were late (docs/proofs.md)."""

LATE_MARGIN: Final = 0.01
"""How much larger a version's share of late events must be before it counts as worse than the other one."""

_LATE_WHEN_COLD: Final = 0.5
"""More events than that are late in its first minute only if the version is slow. At the first share, a tenth
of the traffic, fewer break no promise: of all of a customer's events a twentieth may be late."""

_HALVED: Final = 0.5
"""A minute after the first is cold if at most this times the share of the minute before it is late."""


class Start(Enum):
    """How a side that is judged by itself began with the traffic that it is judged by."""

    WARM = auto()
    """It had some before: late events count from the first minute on."""

    COLD = auto()
    """More traffic may make it compile more: its first minutes may be late."""

    HURRIED = auto()
    """It got everything at once, from a side that did badly: to be late is no reason to go back there."""


def start_of(release: Release) -> Start:
    """How the target of a release began with its present share."""
    if release.kind is not Kind.SWITCH:
        return Start.WARM
    return Start.HURRIED if release.hurried else Start.COLD


def beside_none(minutes: Sequence[SideMinute]) -> list[Pair]:
    """The minutes, beside those of a side without traffic."""
    return [(each, SideMinute(minute=each.minute)) for each in minutes]


def cold_minutes(pairs: Pairs) -> int:
    """Number of first minutes that say nothing of how fast the target is; 0 if it is slow from the first on.

    From half of its events, the most that may be late in the first, there are six halvings to the margin.
    """
    late = [late_share(ours) for ours, _ in pairs]
    if not late or late[0] > _LATE_WHEN_COLD:
        return 0
    limits = [late_share(theirs) + LATE_MARGIN for _, theirs in pairs]
    cold = COLD_MINUTES
    for (before, share), limit in zip(pairwise(late), limits[1:], strict=True):
        if not limit < share <= _HALVED * before:
            break
        cold += 1
    return cold


def late_share(minute: SideMinute) -> float:
    """The share of a minute's events that are not good, 0 to 1."""
    return 1 - minute.good / minute.total if minute.total else 0.0
