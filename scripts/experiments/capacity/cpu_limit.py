"""Limits a side to some of the machine's cores, and keeps what drives it out of them."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from shared.runtime.errors import UsageError

CGROUPS: Final = Path("/sys/fs/cgroup")
OWN: Final = Path("/proc/self/cgroup")
_PERIOD_US: Final = 100_000
_LIMITED: Final = "hifi-side"
_REST: Final = "hifi-load"


class Placement(Struct, frozen=True, kw_only=True):
    """Which cores a side gets, and which the load generator and the destination."""

    inside: frozenset[int]
    outside: frozenset[int]
    """The same as `inside` if the machine has no others."""

    quota: float | None
    """Cores by quota of CPU time, for a number that is not whole; None without."""

    @property
    def load_inside(self) -> bool:
        """Whether the load takes CPU time from the side."""
        return self.inside == self.outside


def placement(cores: float, available: Sequence[int]) -> Placement:
    """Divide the cores of this machine.

    Raises:
        UsageError: if `cores` is not above 0 or the machine has fewer.
    """
    if cores <= 0:
        raise UsageError(f"--cores {cores:g}: a side needs a number above 0", "use 1 or more")
    whole = int(-(-cores // 1))
    if whole > len(available):
        raise UsageError(
            f"--cores {cores:g}: this process may use {len(available)}", f"use at most {len(available)}"
        )
    inside, outside = frozenset(available[:whole]), frozenset(available[whole:])
    return Placement(inside=inside, outside=outside or inside, quota=None if cores == whole else cores)


@contextmanager
def limited(placed: Placement) -> Iterator[Callable[[], None]]:
    """Processes started now are of the side, and after the call of what is yielded of the load.

    Children inherit both limits from this process, and keep them when it leaves.

    Raises:
        UsageError: if a quota is needed, and no cgroup can be written.
    """
    before = os.sched_getaffinity(0)
    group = None if placed.quota is None else Group(own_group(CGROUPS, OWN), placed.quota)
    try:
        os.sched_setaffinity(0, placed.inside)
        yield lambda: _leave(placed, group)
    finally:
        os.sched_setaffinity(0, before)
        if group is not None:
            group.remove()


def _leave(placed: Placement, group: "Group | None") -> None:
    os.sched_setaffinity(0, placed.outside)
    if group is not None:
        group.leave()


def own_group(root: Path, own: Path) -> Path:
    """This process's cgroup.

    Raises:
        UsageError: if there is no cgroup v2.
    """
    try:
        lines = own.read_text().splitlines()
    except OSError:
        lines = []
    path = next((line[3:].lstrip("/") for line in lines if line.startswith("0::")), None)
    if path is None or not (root / path / "cgroup.controllers").exists():
        raise _no_quota("there is no cgroup v2")
    return root / path


class Group:
    """Two groups below this process's own: one with a quota for the side, one without for the rest."""

    def __init__(self, own: Path, cores: float) -> None:
        """Make them and enter the one with the quota.

        Raises:
            UsageError: if they cannot: the own group must be this process's alone, and delegated to it.
        """
        self._own = own
        if "cpu" not in (own / "cgroup.controllers").read_text().split():
            raise _no_quota(f"{own} has no cpu controller")
        try:
            for name in (_LIMITED, _REST):
                (own / name).mkdir(exist_ok=True)
            self._enter(own / _REST)  # a group with processes passes no controller on
            (own / "cgroup.subtree_control").write_text("+cpu")
            (own / _LIMITED / "cpu.max").write_text(f"{round(cores * _PERIOD_US)} {_PERIOD_US}")
            self._enter(own / _LIMITED)
        except OSError as error:
            self.remove()
            raise _no_quota(f"{own} cannot be written: {error.strerror}") from error

    def leave(self) -> None:
        """Move this process to the group without a quota; those that it started stay."""
        self._enter(self._own / _REST)

    def remove(self) -> None:
        """Undo everything, as far as it was done; the side must have ended."""
        with suppress(OSError):
            (self._own / "cgroup.subtree_control").write_text("-cpu")
            self._enter(self._own)
        for name in (_LIMITED, _REST):
            with suppress(OSError):
                (self._own / name).rmdir()

    @staticmethod
    def _enter(group: Path) -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))


def _no_quota(why: str) -> UsageError:
    return UsageError(
        f"--cores: a part of a core needs a writable cgroup v2 of one's own, but {why}",
        "use whole numbers, or run the command by `systemd-run --user --scope -p Delegate=yes`",
    )
