"""Counts the values of watched fields in the rows of a group, by columns. Most events have none."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shared.contracts.field_counts import (
    MAX_TEXT_CHARACTERS,
    FieldCounts,
    WatchKey,
    kept_texts,
    number_buckets,
)
from shared.contracts.matchers import STRING_TAG

_NUMBER: Final = r"^-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?$"
_NULL: Final = "null"


def field_counts(watched: pa.ChunkedArray) -> dict[WatchKey, FieldCounts]:
    """The counts of each field and kind in a column of `schema.WATCHED`."""
    found = pc.list_flatten(watched)
    return dict(_counted(found.combine_chunks())) if len(found) else {}


def _counted(found: pa.StructArray) -> Iterator[tuple[WatchKey, FieldCounts]]:
    fields, kinds, values = found.flatten()
    joined = pc.binary_join_element_wise(kinds, fields, "\0").dictionary_encode()
    for code, key in enumerate(joined.dictionary.to_pylist()):
        kind, _, field = key.partition("\0")
        count = _KINDS.get(kind)
        if count is not None:
            yield (field, kind), count(values.filter(pc.equal(joined.indices, code)))


def _numbers(lists: pa.ListArray) -> FieldCounts:
    leaves, events = _leaves(lists)
    valid = pc.match_substring_regex(leaves, _NUMBER)
    values = leaves.filter(valid).cast(pa.float64()).to_numpy()
    buckets, counts = np.unique(number_buckets(values), return_counts=True)
    return FieldCounts(
        events=len(lists),
        missing=len(lists) - _distinct(events, valid),
        numbers=dict(zip(buckets.tolist(), counts.tolist(), strict=True)),
    )


def _texts(lists: pa.ListArray) -> FieldCounts:
    leaves, events = _leaves(lists)
    valid = pc.not_equal(leaves, _NULL)
    bare = pc.replace_substring_regex(leaves.filter(valid), f"^{STRING_TAG}", "")
    counted = pc.utf8_slice_codeunits(bare, 0, MAX_TEXT_CHARACTERS).value_counts().flatten()
    kept, other = kept_texts(dict(zip(*(each.to_pylist() for each in counted), strict=True)))
    return FieldCounts(
        events=len(lists), missing=len(lists) - _distinct(events, valid), texts=kept, other=other
    )


_KINDS: Final = {"distribution": _numbers, "categories": _texts}


def _leaves(lists: pa.ListArray) -> tuple[pa.Array, pa.Array]:
    """All values, and for each the number of its event."""
    leaves, events = lists.flatten(), pc.list_parent_indices(lists)
    known = leaves.is_valid()
    return leaves.filter(known), events.filter(known)


def _distinct(events: pa.Array, valid: pa.Array) -> int:
    return len(events.filter(valid).unique())
