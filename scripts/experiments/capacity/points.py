"""The model's inputs: measured points, times and sizes, each with its source, in `facts.json`."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from shared.runtime.errors import UsageError

FACTS: Final = Path(__file__).with_name("facts.json")
OUTSIDE: Final = "load and destination"
T = TypeVar("T")


class Kind(StrEnum):
    """How a figure is known."""

    MEASURED = "measured"
    SETTING = "setting"
    """A file of the repository sets it."""

    PUBLISHED = "published"
    """Published by the vendor, or derived from our table of the vendor's prices."""

    ASSUMED = "assumed"


class Point(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One load on a local side, with everything on the same machine."""

    source: str
    """Date and command, or page."""

    cores: float
    """Cores that side, load generator and destination could use."""

    load_inside: bool = True
    """Whether load generator and destination ran on these cores as well."""

    partitions: int = 1
    pipes: int = 1
    """Deliveries an event."""

    rate: float
    """Events per second."""

    batch: int
    """Events per request to collect."""

    held: bool
    """Whether p95 stayed within a second and nothing was lost."""

    cpu_per_million: dict[str, float]
    """CPU seconds per million events, by part."""

    @property
    def label(self) -> str:
        """Name of the point in a table."""
        shape = "single" if self.batch == 1 else f"batches of {self.batch}"
        spread = f", {self.partitions} partitions, {self.pipes} pipes" if self.varied else ""
        return f"{self.rate:,.0f}/s {shape}, {self.cores:g} cores{spread}{'' if self.held else ', not held'}"

    @property
    def varied(self) -> bool:
        """Whether it has other than one partition and one pipe."""
        return (self.partitions, self.pipes) != (1, 1)

    @property
    def cores_used(self) -> dict[str, float]:
        """Cores in use, by part."""
        return {part: seconds * self.rate / 1e6 for part, seconds in self.cpu_per_million.items()}


class Total(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """CPU of a whole chain, not by part: no part of the fit, only a check of it."""

    source: str
    rate: float
    batch: int
    lowest: float
    """CPU seconds per million events, chain without load and destination."""

    highest: float


class Rated(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measured rating."""

    source: str
    cores: float
    batch: int
    rate: float
    """Events per second held for a minute with p95 <= 1 s."""

    load_inside: bool = True
    partitions: int = 1
    pipes: int = 1


class Figure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure, or the range it lies in, with its source."""

    low: float
    high: float | None = None
    """None if it is one figure, `low`."""

    unit: str
    kind: Kind
    source: str

    @property
    def top(self) -> float:
        """The upper end."""
        return self.low if self.high is None else self.high

    @property
    def text(self) -> str:
        """`60 to 180 s`."""
        span = f"{self.low:g}" if self.high is None else f"{self.low:g} to {self.high:g}"
        return f"{span} {self.unit}"


class DocumentedCost(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of the costs that are estimated in docs/infrastructure.md."""

    rate: float
    brokers: int
    broker_vcpus: int
    workers: int
    dollars: float
    """A month, both sides."""


class Facts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that the model reads."""

    points: list[Point]
    totals: list[Total]
    ratings: list[Rated]
    figures: dict[str, Figure]
    documented: list[DocumentedCost]

    def __getitem__(self, name: str) -> float:
        """A figure that is not a range."""
        return self.figure(name).low

    def figure(self, name: str) -> Figure:
        """A figure by its name.

        Raises:
            UsageError: if there is none.
        """
        found = self.figures.get(name)
        if found is None:
            raise UsageError(f"figures.{name} is missing", f"add it to {FACTS.name}")
        return found


def read_facts(path: Path = FACTS) -> Facts:
    """Read a file of facts.

    Raises:
        UsageError: names the file, the field and the cause.
    """
    return _read(path, Facts)


def with_points(facts: Facts, files: Iterable[Path]) -> Facts:
    """The facts, and the points in files that `measure` wrote.

    Raises:
        UsageError: names the file, the field and the cause.
    """
    more = [_read(path, Measured) for path in files]
    return msgspec.structs.replace(
        facts,
        points=[*facts.points, *(point for each in more for point in each.points)],
        ratings=[*facts.ratings, *(rated for each in more for rated in each.ratings)],
    )


class Measured(Struct, kw_only=True, forbid_unknown_fields=True):
    """The file that `measure` writes."""

    points: list[Point] = []
    ratings: list[Rated] = []


def _read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "name a file that exists") from error
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path} cannot be used: {error}", "correct that field") from error
