"""The cost of an event in route, in steps of about ten nanoseconds. Pure.

`tenant_limits` bounds the patterns, not the event: one field may hold many values or a long text, and the
objects on the way to it may have many members. An event above MATCHING_STEPS, of any kind, is matched with no
pipe: route quarantines it, and the API says so of an event that it tries on a pipe.

Reading: each name on the way to a field is looked up in the objects there, once however many paths have it in
common, and each level of objects below the data's own is copied. Comparing: each condition of the
alternatives that the event's attributes and id leave open, by `comparing_steps`. Conditions on attributes are
a kind of their own, of all alternatives that the id leaves open.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Final

from shared.contracts.comparing_steps import BLOCK_BITS, COMPARED, Comparing
from shared.contracts.limits import MAX_ATTRIBUTE_BYTES
from shared.contracts.matchers import STRING_TAG

MATCHING_COMPARISONS: Final = 1_000_000
MATCHING_STEPS: Final = MATCHING_COMPARISONS * COMPARED
"""Most steps of each kind, for one event with all pipes of its source: about a second."""

OBJECT: Final = 10
"""An object in which a name is looked up."""

MEMBER: Final = 2
"""A member of it."""

COPIED: Final = 8
"""A byte of data, at each level below the data's own at which there are objects: Spark builds them anew, node
by node. Paths that differ have different objects, so those of a level together are no more than the data."""

TOO_COSTLY: Final = (
    f"takes more than {MATCHING_COMPARISONS:,} comparisons with the patterns of the source's pipes: too many"
    " values or too long texts in the fields that they look at, or too many members on the way there"
)
"""The reason in `quarantine`."""

_LEAST_OBJECT_BYTES: Final = 2
_MOST_VALUES_A_BYTE: Final = 0.5
_MOST_CHARACTERS_A_BYTE: Final = 1


def copying(data_bytes: int) -> int:
    """The steps of copying the objects of one level below the data's own, in data of so many bytes."""
    return COPIED * data_bytes


def looking_up(members: Iterable[int]) -> int:
    """The steps of looking up one name in objects of so many members."""
    return sum(OBJECT + MEMBER * each for each in members)


def attribute_steps(conditions: Iterable[Comparing]) -> int:
    """The most steps that any event may take with these conditions on attributes."""
    return sum(each.of(1, len(STRING_TAG) + MAX_ATTRIBUTE_BYTES) for each in conditions)


def steps_per_byte(levels: int, most_names: int, conditions: Iterable[tuple[int, Comparing]]) -> int:
    """More steps than an event may take for each of its bytes: where that is too little, none are counted.

    An object is at one path alone, and so is a value: only the path counts at which there are most.

    Args:
        levels: of objects below the data's own.
        most_names: that are looked up in one object.
        conditions: on data, each with the number of its path.
    """
    reading = levels * copying(1) + math.ceil(OBJECT * most_names / _LEAST_OBJECT_BYTES)
    compared = Counter[int]()
    for path, each in conditions:
        values, characters = each.per_value * _MOST_VALUES_A_BYTE, each.per_block * _MOST_CHARACTERS_A_BYTE
        compared[path] += math.ceil(values + characters / (1 << BLOCK_BITS))
    return max(reading, *compared.values(), 0)
