"""Watches of a pipe: the meter counts the values of these fields, to compare them with the days before.

A field is named as an event pattern nests it, joined by dots: `data.score`, `data.user.country`,
`data['odd.name']`. A name that meets an array means each of its elements, as in patterns and masks.
"""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from shared.contracts.masks import Every, Mask, MaskError, Steps, mask_steps
from shared.contracts.patterns import DATA

WatchKind = Literal["distribution", "categories"]

MAX_WATCHES: Final = 5

_EXAMPLE: Final = "for example data.score"


class Watch(Struct, kw_only=True, frozen=True):
    """One field, and how its values are counted."""

    field: Annotated[str, Meta(max_length=200)]
    kind: WatchKind
    """distribution: numbers, by size. categories: texts, booleans and numbers, each by itself."""


class WatchError(ValueError):
    """A watch is not valid; the text gives the fix."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at
        """Its index."""


def watched_names(field: str) -> tuple[str, ...]:
    """The names on the way to a field, below `data`.

    Raises:
        ValueError: gives the fix.
    """
    try:
        steps = mask_steps(f"$.{field}")
    except MaskError:
        raise ValueError(f"{field!r} cannot be read: names under data, joined by dots, {_EXAMPLE}") from None
    names = tuple(step for step in steps if isinstance(step, str))
    if names[0] != DATA or len(names) == 1:
        raise ValueError(f"{field!r} is no field under data; name one, {_EXAMPLE}")
    if len(names) < len(steps):
        raise ValueError("takes names only: one that meets an array means each of its elements")
    return names[1:]


def check_watches(watches: Iterable[Watch], masks: Iterable[Mask]) -> None:
    """Refuse fields that are named badly, twice, or masked: what must not leave is not counted either.

    Raises:
        WatchError: gives the index and the fix.
    """
    masked = [(mask.path, mask_steps(mask.path)) for mask in masks]
    seen: set[tuple[str, ...]] = set()
    for at, watch in enumerate(watches):
        try:
            names = watched_names(watch.field)
        except ValueError as error:
            raise WatchError(at, str(error)) from error
        if names in seen:
            raise WatchError(at, f"{watch.field!r} is watched already; leave one of them out")
        seen.add(names)
        for path, steps in masked:
            if _overlap(steps, (DATA, *names)):
                raise WatchError(at, f"{watch.field!r} is masked by {path}; leave the watch or the mask out")


def _overlap(mask: Steps, names: tuple[str, ...]) -> bool:
    """Whether a mask may meet the field, something in it, or something that it is in."""
    if not mask or not names:
        return True
    step, rest = mask[0], mask[1:]
    if isinstance(step, int):  # an array's element, which has no name of its own
        return _overlap(rest, names)
    if isinstance(step, Every):
        return _overlap(rest, names) or _overlap(rest, names[1:])
    return step == names[0] and _overlap(rest, names[1:])
