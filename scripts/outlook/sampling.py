"""Which part of a long range is read, so that looking stays quick. Pure."""

from collections.abc import Iterable

from shared.kafka.offset_range_reader import OffsetRange


def slices(span: OffsetRange, most: int, parts: int = 10) -> list[OffsetRange]:
    """The whole span where it has at most `most` records; else `parts` equal runs of it, spread evenly.

    The first run is the span's beginning: what waits longest is there.
    """
    if span.records <= most:
        return [span] if span.records else []
    size, step = most // parts, span.records / parts
    starts = [span.start + int(step * part) for part in range(parts)]
    return [span._replace(start=start, end=start + size) for start in starts]


def scale(span: OffsetRange, read: Iterable[OffsetRange]) -> float:
    """How many records of a span each one that was read stands for."""
    count = sum(part.records for part in read)
    return span.records / count if count else 1.0
