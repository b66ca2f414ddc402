"""A pure function that computes again only when it gets something else."""

from collections.abc import Callable
from typing import Generic, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Memo(Generic[T, *Ts]):
    """Keeps the last result while the arguments are the same objects, which must not be changed meanwhile."""

    def __init__(self, compute: Callable[[*Ts], T]) -> None:
        self._compute = compute
        self._last: tuple[tuple[*Ts], T] | None = None

    def __call__(self, *args: *Ts) -> T:
        """The function's result."""
        if self._last is None or not _same(self._last[0], args):
            self._last = args, self._compute(*args)
        return self._last[1]

    def forget(self) -> None:
        """Compute again at the next call."""
        self._last = None


def _same(former: tuple[object, ...], args: tuple[object, ...]) -> bool:
    return all(one is other for one, other in zip(former, args, strict=True))
