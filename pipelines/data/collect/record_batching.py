"""Packs items into as few `collected` records as their size allows: one acknowledgement covers many items."""

from collections.abc import Iterable, Iterator

from shared.contracts.envelope import join_items

_BRACKETS = 2
_COMMA = 1


def batch_records(encoded: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Record values of at most `limit` bytes, items in order; a larger item gets a record of its own."""
    held: list[bytes] = []
    size = _BRACKETS
    for item in encoded:
        if held and size + len(item) + _COMMA > limit:
            yield join_items(held)
            held, size = [], _BRACKETS
        held.append(item)
        size += len(item) + _COMMA
    if held:
        yield join_items(held)
