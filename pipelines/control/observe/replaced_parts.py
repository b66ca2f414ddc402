"""Which parts the long items of observe's table have, so that those of a replaced one can be deleted."""

import threading
from collections.abc import Iterable, Sequence
from typing import Final

ItemKey = tuple[str, str]
"""(pk, sk)."""

MOST: Final = 10_000
"""Most long items that are remembered, and most parts that wait to be deleted: others expire."""


class ReplacedParts:
    """The parts of long items that this process wrote. Thread-safe."""

    def __init__(self) -> None:
        self._named: dict[ItemKey, Sequence[ItemKey]] = {}
        self._replaced: list[ItemKey] = []
        self._changing = threading.Lock()

    def knows(self, key: ItemKey) -> bool:
        """Whether the parts of an item are known."""
        return key in self._named

    def note(self, key: ItemKey, parts: Sequence[ItemKey]) -> None:
        """Note that an item has these parts now, or none; its former parts are replaced."""
        with self._changing:
            before = self._named.pop(key, ())
            self._replaced += [part for part in before if part not in parts]
            if parts:
                self._named[key] = parts
            if len(self._named) > MOST:
                del self._named[next(iter(self._named))]

    def take(self) -> Sequence[ItemKey]:
        """The parts that were replaced, each once."""
        with self._changing:
            found, self._replaced = self._replaced, []
        return found

    def put_back(self, parts: Iterable[ItemKey]) -> None:
        """Those of them that could not be deleted."""
        with self._changing:
            self._replaced = [*parts, *self._replaced][:MOST]
