"""The plan of a pipe's rollout in steps, as in its document. Pure."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Final

from msgspec import Meta, Struct

from shared.contracts.envelope import DAY_MS, HOUR_MS, MINUTE_MS

FULL_SHARE: Final = 100.0
"""Percent of the matching events that a pipe takes once it is open."""

MOST_STEPS: Final = 20
_DURATION: Final = r"^[1-9][0-9]{0,3}[smhd]$(?!\n)"
_UNIT_MS: Final = {"s": 1_000, "m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}

Share = Annotated[float, Meta(gt=0, le=FULL_SHARE)]
Duration = Annotated[str, Meta(pattern=_DURATION)]
"""Such as 30s, 5m, 2h or 1d."""


class Rollout(Struct, kw_only=True, frozen=True):
    """A pipe that is opened step by step, as long as its own events fare well."""

    steps: Annotated[list[Share], Meta(min_length=1, max_length=MOST_STEPS)]
    """Percentages of the matching events, rising to FULL_SHARE."""

    every: Duration = "5m"
    """How long a step lasts at least."""

    at_least: Annotated[int, Meta(ge=1)] = 100
    """Events of the pipe that a step needs."""

    stop_below: Annotated[float, Meta(ge=0, le=100)] = 95.0
    """Percent of a step's events that must be good."""

    stop_above: Annotated[float, Meta(ge=0, le=100)] = 1.0
    """Percent of a step's events that may become dead letters."""

    @property
    def every_ms(self) -> int:
        """How long a step lasts at least, milliseconds."""
        return int(self.every[:-1]) * _UNIT_MS[self.every[-1]]


def step_problems(rollout: Rollout, smallest: float) -> Iterator[tuple[str, str]]:
    """Problems of the steps: pairs of a path below the rollout and a sentence with the fix."""
    for at, step in enumerate(rollout.steps):
        if step < smallest:
            yield f".steps[{at}]", f"the smallest share is {smallest} percent"
    for at, (before, step) in enumerate(pairwise(rollout.steps), start=1):
        if step <= before:
            yield f".steps[{at}]", f"each step is above the one before: write more than {before:g}"
    if rollout.steps[-1] != FULL_SHARE:
        yield f".steps[{len(rollout.steps) - 1}]", "the last step is 100: then the pipe is open"
