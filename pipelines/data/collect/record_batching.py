"""Items to `collected` records: as few as their size allows, so that one confirmation covers many."""

from collections.abc import Iterable, Iterator

from shared.contracts.envelope import join_items

_BRACKETS = 2
_COMMA = 1


def chunks(encoded: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Record values of at most `limit` bytes, items in their order; a larger item gets its own record."""
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
