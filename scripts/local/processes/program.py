"""One supervised process of a local side, and what every one finds in its environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from scripts.local.process_marks import OF_SIDE, PROGRAM
from scripts.local.side import Side


@dataclass(frozen=True, kw_only=True)
class Program:
    """One supervised process."""

    name: str
    command: list[str]
    environment: dict[str, str]
    group: str
    """Programs of a group stop at the same time."""

    order: int
    """Groups with a higher number stop earlier."""

    start_seconds: int
    """After so many seconds it counts as started; if it ends earlier, the next start waits longer."""

    stop_seconds: int
    """Seconds from SIGTERM to SIGKILL."""

    folder: str = ""
    """Working directory, created if missing; the side's folder if empty."""


def unless_set(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings that the environment may give other values."""
    return {name: os.environ.get(name, value) for name, value in settings.items()}


def side_environment(side: Side, name: str) -> dict[str, str]:
    """Variables of a program of this side, by which it can be found too.

    What Python compiled is kept, whatever the user's shell says: a start costs up to three CPU seconds less.
    """
    of_python = {"PYTHONDONTWRITEBYTECODE": ""}
    return {**side.environment(), **of_python, OF_SIDE: str(side.root), PROGRAM: name}
