"""Where the newest record of each key of a compacted topic is. Pure."""

from typing import Final

_MOST_DELETIONS: Final = 1_000


class NewestOffsets:
    """The newest offset of each key of one partition. Of deleted keys only the last are kept.

    Callers ask whether a reader is past a record. A forgotten deletion counts as the newest forgotten one,
    which is not earlier: a reader that is past that one is past the other, too.
    """

    def __init__(self) -> None:
        self._there: dict[bytes, int] = {}
        self._deleted: dict[bytes, int] = {}
        """Oldest first."""

        self._forgotten = -1

    def __len__(self) -> int:
        return len(self._there) + len(self._deleted)

    def note(self, key: bytes, offset: int, *, deleted: bool) -> None:
        """A key has a newer record, perhaps its deletion."""
        self._there.pop(key, None)
        self._deleted.pop(key, None)
        (self._deleted if deleted else self._there)[key] = offset
        if len(self._deleted) > _MOST_DELETIONS:
            self._forgotten = max(self._forgotten, self._deleted.pop(next(iter(self._deleted))))

    def of(self, key: bytes) -> int:
        """The offset of a key's newest record, or a later one of a deletion; -1 if none was read."""
        return self._there.get(key, self._deleted.get(key, self._forgotten))
