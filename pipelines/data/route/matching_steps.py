"""The steps that an event takes (see `shared.contracts.matching_steps`), as Column expressions.

Counting is about as costly as reading, so it is only done for an event that may take too many.
"""

from pyspark.sql import Column
from pyspark.sql import functions as fn

from pipelines.data.route.event_values import (
    computed_once,
    elements,
    inner_names,
    object_members,
    outer_nodes,
)
from shared.contracts.matchers import STRING_TAG
from shared.contracts.matching_steps import COPIED_BYTES, MATCHING_STEPS, PASSED


def may_be_costly(value: Column, steps_per_byte: Column) -> Column:
    """Whether an event of this size may take too many steps; one without data does not."""
    return fn.coalesce(fn.octet_length(value) * steps_per_byte > MATCHING_STEPS, fn.lit(False))


def costly_to_read(top: Column, paths: Column, value: Column) -> Column:
    """Whether reading all paths takes too many steps; the rest are not counted then."""
    found = fn.aggregate(
        paths,
        _no_steps(),
        lambda steps, path: fn.when(steps > MATCHING_STEPS, steps).otherwise(
            steps
            + fn.floor(fn.size(path) * fn.octet_length(value) / COPIED_BYTES)
            + PASSED * _passed(top, path)
        ),
    )
    return found > MATCHING_STEPS


def costly_to_compare(alternatives: Column, values: Column) -> Column:
    """Whether comparing these values with the conditions of these alternatives takes too many steps."""
    sizes = fn.transform(
        values, lambda of: fn.struct(fn.size(of).alias("values"), _characters(of).alias("characters"))
    )
    found = computed_once(
        sizes,
        lambda known: fn.aggregate(
            alternatives,
            _no_steps(),
            lambda steps, alternative: fn.aggregate(
                alternative["data"], steps, lambda more, condition: more + _comparing(condition, known)
            ),
        ),
    )
    return found > MATCHING_STEPS


def _no_steps() -> Column:
    return fn.lit(0).cast("bigint")


def _characters(values: Column) -> Column:
    """Of the texts among them."""
    texts = fn.filter(values, lambda value: fn.startswith(value, fn.lit(STRING_TAG)))
    return fn.length(fn.concat_ws("", texts))


def _comparing(condition: Column, sizes: Column) -> Column:
    size = fn.get(sizes, condition["slot"])
    return condition["per_value"] * size["values"] + condition["per_character"] * size["characters"]


def _passed(top: Column, path: Column) -> Column:
    """The members and elements on the way to a path's values."""
    begun = fn.struct(outer_nodes(top, path).alias("nodes"), _members_in(top).alias("passed"))
    return fn.aggregate(
        inner_names(path),
        begun,
        _further,
        lambda walk: walk["passed"] + fn.size(_all_elements(walk["nodes"])),
    )


def _further(walk: Column, name: Column) -> Column:
    """The nodes one name further on."""
    return computed_once(
        _all_elements(walk["nodes"]),
        lambda found: computed_once(
            fn.array_compact(fn.transform(found, object_members)),
            lambda of: fn.struct(
                fn.array_compact(fn.transform(of, lambda each: fn.try_element_at(each, name))).alias("nodes"),
                fn.aggregate(
                    of, walk["passed"] + fn.size(found), lambda passed, each: passed + _members_in(each)
                ).alias("passed"),
            ),
        ),
    )


def _all_elements(nodes: Column) -> Column:
    return fn.flatten(fn.transform(nodes, elements))


def _members_in(of: Column) -> Column:
    return fn.size(fn.map_keys(of)).cast("bigint")
