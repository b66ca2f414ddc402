"""Measures new points: the rating of a freshly started side for numbers of cores, partitions and pipes."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from scripts.experiments.capacity.cpu_limit import Placement, limited
from scripts.experiments.capacity.model import BROKERS, COLLECT, JVM, PYTHON
from scripts.experiments.capacity.points import OUTSIDE, Measured, Point, Rated
from scripts.experiments.harness.cpu import Seconds
from scripts.experiments.harness.documents import NAME, documents
from scripts.experiments.harness.measure import Bench, destination, destination_port, destination_url
from scripts.experiments.harness.output import say
from scripts.experiments.harness.rating import Rating, SearchPlan, search_rating
from scripts.experiments.harness.runs import Load, Run
from scripts.experiments.harness.side import hifi
from scripts.local.client.documents import documents_of
from scripts.local.ports import free_base
from scripts.local.processes.profile import SideProfile
from scripts.local.side import Side
from shared.contracts.documents import Destination, Document, Pipe

OTHER: Final = "other processes"
_COMMAND: Final = "`python -m scripts.experiments.capacity measure`"
_PARTS: Final = {
    "collect": COLLECT,
    "spark driver": JVM,
    "spark jvm": JVM,
    "spark python workers": PYTHON,
    "load": OUTSIDE,
    "destination": OUTSIDE,
}


class Setting(Struct, frozen=True, kw_only=True):
    """One side to measure."""

    cores: float
    placed: Placement
    partitions: int
    pipes: int
    warm_up: Load
    search: SearchPlan
    parts: SideProfile

    @property
    def label(self) -> str:
        """Name in progress lines."""
        return f"{self.cores:g} cores, {self.partitions} partitions, {self.pipes} pipes"


def measure(setting: Setting) -> Measured:
    """Start a side within the limit, warm it up, and search its rating.

    Raises:
        ChainError: if it does not start, or one of its processes ends.
        UsageError: if the limit cannot be set.
    """
    say(f"{setting.label}: starting")
    started = datetime.now(UTC).date().isoformat()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="hifi-capacity-")))
        leave = stack.enter_context(limited(setting.placed))
        port = destination_port()
        side = Side(root=folder / "side", port=free_base(), partitions=setting.partitions)
        chain = stack.enter_context(hifi(side, destination_url(port), setting.parts))
        leave()
        if setting.pipes > 1:
            # A destination of their own: what arrives there is neither awaited nor counted.
            others = port + 1  # of the same free range
            stack.enter_context(destination(others, folder / "others.tsv"))
            documents_of(side).put(more_pipes(destination_url(others), setting.pipes - 1))
        bench = Bench(chain, port)
        say(f"{setting.label}: warm-up, {setting.warm_up.label}")
        bench.run(setting.warm_up, lead_seconds=0)
        found = search_rating(bench, setting.search, say)
    return measured(setting, found, f"{started}, {_COMMAND}")


def more_pipes(url: str, count: int) -> list[Document]:
    """The destination of the further pipes, and `count` pipes that match as the first one does."""
    name = f"{NAME}-others"
    pattern = next(each.match for each in documents(url) if isinstance(each, Pipe))
    pipes = (
        Pipe(name=f"{name}-{number}", tenant=NAME, source=NAME, destination=name, match=pattern)
        for number in range(count)
    )
    return [Destination(name=name, tenant=NAME, options={"url": url}), *pipes]


def measured(setting: Setting, found: Rating, source: str) -> Measured:
    """The points of a search's runs and, if a rate was held, the rating."""
    rated = Rated(
        source=source,
        cores=setting.cores,
        load_inside=setting.placed.load_inside,
        partitions=setting.partitions,
        pipes=setting.pipes,
        batch=setting.search.batch,
        rate=found.rate,
    )
    return Measured(points=list(_points(setting, found, source)), ratings=[rated] if found.rate else [])


def _points(setting: Setting, found: Rating, source: str) -> Iterator[Point]:
    for run, complaint in zip(found.runs, found.complaints, strict=True):
        if run.delivered:
            yield Point(
                source=source,
                cores=setting.cores,
                load_inside=setting.placed.load_inside,
                partitions=setting.partitions,
                pipes=setting.pipes,
                rate=run.load.rate,
                batch=run.load.batch,
                held=not complaint,
                cpu_per_million=by_part(run),
            )


def by_part(run: Run) -> Seconds:
    """CPU seconds per million events by part of the model."""
    totals: Seconds = {}
    for role, seconds in run.cpu_per_million.items():
        part = BROKERS if role.startswith("broker-") else _PARTS.get(role, OTHER)
        totals[part] = totals.get(part, 0.0) + seconds
    return {part: round(seconds, 1) for part, seconds in totals.items()}


def joined(all_found: list[Measured]) -> Measured:
    """The points and ratings of several sides."""
    return Measured(
        points=[point for found in all_found for point in found.points],
        ratings=[rated for found in all_found for rated in found.ratings],
    )
