"""Loads and durations of a bench run. Pure."""

from msgspec import Struct

from scripts.experiments.harness.rating import HELD_P95_MS, SearchPlan
from scripts.experiments.harness.runs import Load
from scripts.experiments.harness.search import SearchRange, most_trials
from scripts.local.processes.profile import SideProfile
from scripts.local.side import DEFAULT_PARTITIONS

BATCH = 100


class BenchPlan(Struct, frozen=True, kw_only=True):
    """Durations in seconds."""

    first_minute: Load = Load(rate=1_000, batch=1, seconds=60)
    """Sent as soon as the side is ready."""

    warm_up: Load = Load(rate=10_000, batch=BATCH, seconds=120)
    idle_seconds: float = 30.0
    loads: tuple[Load, ...] = (
        Load(rate=1_000, batch=1, seconds=30),
        Load(rate=10_000, batch=BATCH, seconds=30),
    )
    repeats: int = 3
    bounds: SearchRange = SearchRange()
    probe_seconds: float = 15.0
    hold_seconds: float = 60.0
    search_seconds: float = 900.0
    """No trial starts later than this."""

    partitions: int = DEFAULT_PARTITIONS
    p95_ms: float | None = HELD_P95_MS
    """Bound on hifi's p95 at each load, milliseconds; None if the loads are too short to judge."""

    parts: SideProfile = SideProfile.ALL
    """Programs of hifi's side."""

    yardstick: bool = True
    rating: bool = True

    @property
    def search(self) -> SearchPlan:
        """How the rating is searched."""
        return SearchPlan(
            bounds=self.bounds,
            batch=BATCH,
            probe_seconds=self.probe_seconds,
            hold_seconds=self.hold_seconds,
            search_seconds=self.search_seconds,
        )

    def longest(self) -> float:
        """Estimated upper bound of the measuring time, without starting the chains; seconds."""
        loads = sum(load.seconds for load in self.loads) * self.repeats
        once = self.first_minute.seconds + self.warm_up.seconds + self.idle_seconds + loads
        trials = most_trials(self.bounds) * self.probe_seconds + self.bounds.holds * self.hold_seconds
        search = min(self.search_seconds + self.hold_seconds, trials) if self.rating else 0.0
        return (once + search) * (2 if self.yardstick else 1)


def quick() -> BenchPlan:
    """A plan of seconds that shows that everything works; its figures mean little."""
    return BenchPlan(
        first_minute=Load(rate=200, batch=1, seconds=4),
        warm_up=Load(rate=1_000, batch=BATCH, seconds=4),
        idle_seconds=3.0,
        loads=(Load(rate=200, batch=1, seconds=4), Load(rate=1_000, batch=BATCH, seconds=4)),
        repeats=1,
        bounds=SearchRange(step=500, start=1_000, highest=1_500, holds=2),
        probe_seconds=3.0,
        hold_seconds=4.0,
        search_seconds=60.0,
        p95_ms=None,
    )
