"""Where the newest record of each key of a compacted topic is. Pure."""

from typing import Final

_MOST_DELETIONS: Final = 1_000


class NewestOffsets:
    """Of one partition. Bounded by the keys that the topic holds: of deleted ones only the last are kept.

    Whoever asks wants to know whether a reader is past a record. So a deletion that is kept no more counts as
    the newest of these, which is not earlier than it: whoever is past that has passed this one, too.
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
