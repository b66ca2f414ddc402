"""A search for dead letters in pages, with bounds on each."""

import re
import time
from collections.abc import Callable, Container, Mapping
from typing import Final

from msgspec import Struct

from shared.contracts.replays import LetterKey
from shared.dead_letters.dead_letter import DeadLetter, Filter
from shared.dead_letters.newest_first import ReadingEndedError
from shared.dead_letters.store import DeadLetterStore
from shared.kafka.offset_range_reader import OffsetRange

Position = Mapping[int, int]
"""The offset before which a search goes on, by partition."""

_POSITION: Final = re.compile(r"[0-9]{1,9}\.[0-9]{1,18}(?:-[0-9]{1,9}\.[0-9]{1,18}){0,99}")


class Bounds(Struct, frozen=True, kw_only=True):
    """How much one page may take."""

    letters: int
    records: int
    """Most records to look at, other tenants' included."""

    seconds: float
    """After which nothing more is read; what was read until then is still looked at."""


class Page(Struct, frozen=True, kw_only=True):
    """A part of a search."""

    letters: list[DeadLetter]
    """Newest first, without their data."""

    skipped: int
    """Letters left out because they were replayed before."""

    following: Position | None
    """Where the next page begins; None if there is none."""

    cut: bool
    """Whether it ended by records or time, with fewer letters than it may have."""


def search(  # noqa: PLR0913, PLR0917  # what to look for, from where, and how far
    store: DeadLetterStore,
    wanted: Filter,
    before: Position,
    bounds: Bounds,
    closed: Container[LetterKey],
    monotonic: Callable[[], float] = time.monotonic,
) -> Page:
    """The newest letters before a position that meet a filter and are not in `closed`.

    Raises:
        KafkaException: if the brokers refuse.
        TimeoutError: if they stop answering.
    """
    until = monotonic() + bounds.seconds
    spans = [_before(span, before) for span in store.narrowed(wanted)]
    position = {span.partition: span.end for span in spans}
    letters: list[DeadLetter] = []
    skipped = 0
    try:
        for looked, found in enumerate(store.newest_first(wanted, spans, lambda: monotonic() < until), 1):
            position[found.partition] = found.offset
            if found.kept is not None and found.kept.key in closed:
                skipped += 1
            elif found.kept is not None:
                letters.append(found.kept)
            if len(letters) == bounds.letters or looked == bounds.records:
                break
        else:
            return Page(letters=letters, skipped=skipped, following=None, cut=False)
    except ReadingEndedError:
        pass
    left = any(position[span.partition] > span.start for span in spans)
    return Page(
        letters=letters,
        skipped=skipped,
        following=position if left else None,
        cut=left and len(letters) < bounds.letters,
    )


def _before(span: OffsetRange, before: Position) -> OffsetRange:
    return span._replace(end=max(span.start, min(span.end, before.get(span.partition, span.end))))


def position_text(position: Position) -> str:
    """A position as text."""
    return "-".join(f"{partition}.{offset}" for partition, offset in sorted(position.items()))


def read_position(text: str) -> Position | None:
    """The position in a text of `position_text`; None for any other."""
    if not _POSITION.fullmatch(text):
        return None
    return {
        int(partition): int(offset) for partition, offset in (each.split(".") for each in text.split("-"))
    }
