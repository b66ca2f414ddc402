"""Comparing pinned versions with offered ones, without any call."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True)
class Pin:
    """A version that an environment's file pins, and the newest one offered for it.

    Attributes:
        field: Where the file has it, such as `cluster.addons.coredns`.
        pinned: Version in the file.
        newest: Newest version offered; None if it could not be found out.
    """

    field: str
    pinned: str
    newest: str | None

    @property
    def is_behind(self) -> bool:
        """Whether a newer one is offered."""
        return self.newest is not None and version_key(self.newest) > version_key(self.pinned)


def version_key(version: str) -> tuple[int, ...]:
    """The numbers of a version in order: `v1.13.2-eksbuild.10` is after `v1.13.2-eksbuild.9`."""
    return tuple(int(each) for each in _NUMBER.findall(version))


def newest(versions: Iterable[str]) -> str | None:
    """The newest of some versions without a pre-release among them; None if there is none."""
    released = [each for each in versions if not re.search(r"alpha|beta|rc", each)]
    return max(released, key=version_key, default=None)


def table(pins: Iterable[Pin]) -> list[str]:
    """A line for each pin that is behind or unknown, the fix included."""
    lines = []
    for pin in pins:
        if pin.newest is None:
            lines.append(f"{pin.field}: {pin.pinned}, and no newest version could be found out")
        elif pin.is_behind:
            lines.append(f"{pin.field}: {pin.pinned} -> {pin.newest}")
    return lines
