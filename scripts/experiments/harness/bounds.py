"""Figures and their upper bounds. Pure."""

from collections.abc import Iterable

from msgspec import Struct

from shared.runtime.errors import OperatorError


class Bound(Struct, frozen=True, kw_only=True):
    """A figure of an experiment and its upper bound, in one unit."""

    what: str
    figure: float | None
    """None if nothing was measured, which breaks the bound."""

    most: float
    unit: str

    @property
    def kept(self) -> bool:
        """Whether the figure is at most its bound."""
        return self.figure is not None and self.figure <= self.most

    def __str__(self) -> str:
        figure = "nothing measured" if self.figure is None else f"{self.figure:,.4g} {self.unit}"
        return f"{self.what}: {figure}, target at most {self.most:,.4g} {self.unit}"


class BrokenBoundError(OperatorError):
    """An experiment measured figures beyond their bounds."""


def check(bounds: Iterable[Bound]) -> None:
    """Check that all bounds are kept.

    Raises:
        BrokenBoundError: names each broken bound.
    """
    broken = [str(bound) for bound in bounds if not bound.kept]
    if broken:
        raise BrokenBoundError(f"bound broken: {', and '.join(broken)}")
