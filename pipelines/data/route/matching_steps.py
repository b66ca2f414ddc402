"""The steps that an event takes (see `shared.contracts.matching_steps`), as Column expressions.

Counting takes time, too, so it is only done for an event that may take too many.
"""

from pyspark.sql import Column
from pyspark.sql import functions as fn

from pipelines.data.route.data_values import inner_objects, outer_objects
from pipelines.data.route.event_values import computed_once
from shared.contracts.comparing_steps import BLOCK_BITS
from shared.contracts.matchers import STRING_TAG
from shared.contracts.matching_steps import COPIED, MATCHING_STEPS, MEMBER, OBJECT


def may_be_costly(value: Column, steps_per_byte: Column) -> Column:
    """Whether an event of this size may take too many steps; one without data does not."""
    return fn.coalesce(fn.octet_length(value) * steps_per_byte > MATCHING_STEPS, fn.lit(False))


def costly_to_read(top: Column, tree: Column, value: Column) -> Column:
    """Whether reading the fields of `data_tree` takes too many steps; data that is no object takes none."""
    copied = COPIED * fn.octet_length(value).cast("bigint")
    begun = computed_once(
        (fn.size(tree["objects"]) + fn.size(tree["fields"])) * _looking_up(top),
        lambda steps: fn.struct(
            fn.when(steps <= MATCHING_STEPS, outer_objects(top, tree["objects"])).alias("objects"),
            steps.alias("steps"),
        ),
    )
    found = fn.aggregate(
        tree["levels"], begun, lambda read, level: _further(read, level, copied), lambda read: read["steps"]
    )
    return top.isNotNull() & (found > MATCHING_STEPS)


def costly_attributes(alternatives: Column, values: Column, attribute_steps: Column) -> Column:
    """Whether comparing the attributes takes too many steps, with alternatives whose sample has the event."""
    counted = costly_to_compare(alternatives, "attributes", values)
    return (attribute_steps > MATCHING_STEPS) & counted


def costly_to_compare(alternatives: Column, part: str, values: Column) -> Column:
    """Whether comparing takes too many steps.

    Args:
        alternatives: the ones that are still open.
        part: their conditions to count, `attributes` or `data`.
        values: the event's values for this part, by slot.
    """
    sizes = fn.transform(
        values, lambda of: fn.struct(fn.size(of).alias("values"), _characters(of).alias("characters"))
    )
    found = computed_once(
        sizes,
        lambda known: fn.aggregate(
            alternatives,
            _no_steps(),
            lambda steps, alternative: fn.aggregate(
                alternative[part], steps, lambda more, condition: more + _comparing(condition, known)
            ),
        ),
    )
    return found > MATCHING_STEPS


def _no_steps() -> Column:
    return fn.lit(0).cast("bigint")


def _characters(values: Column) -> Column:
    """The number of characters of the texts among these values."""
    texts = fn.filter(values, lambda value: fn.startswith(value, fn.lit(STRING_TAG)))
    return fn.length(fn.concat_ws("", texts))


def _comparing(condition: Column, sizes: Column) -> Column:
    size = fn.get(sizes, condition["slot"])
    per_block = fn.shiftright(condition["per_block"] * size["characters"], BLOCK_BITS)
    return condition["per_value"] * size["values"] + per_block


def _looking_up(members: Column) -> Column:
    """The steps of looking up a name in an object."""
    return OBJECT + MEMBER * fn.size(fn.map_keys(members)).cast("bigint")


def _further(read: Column, level: Column, copied: Column) -> Column:
    """One level of objects further on; where there are too many steps already, nothing more is looked up."""
    objects = read["objects"]
    copying = fn.when(fn.exists(objects, lambda found: fn.size(found) > 0), copied).otherwise(_no_steps())
    found = computed_once(
        read["steps"] + copying + _looked_up(objects, fn.concat(level["objects"], level["fields"])),
        lambda steps: fn.struct(
            fn.when(steps <= MATCHING_STEPS, inner_objects(objects, level["objects"])).alias("objects"),
            steps.alias("steps"),
        ),
    )
    return fn.when(read["steps"] > MATCHING_STEPS, read).otherwise(found)


def _looked_up(objects: Column, names: Column) -> Column:
    """The steps of looking up these names, each in the objects that it is of."""
    each_name = fn.transform(
        objects,
        lambda found: fn.aggregate(found, _no_steps(), lambda so_far, each: so_far + _looking_up(each)),
    )
    return computed_once(
        each_name,
        lambda steps: fn.aggregate(
            names, _no_steps(), lambda so_far, name: so_far + fn.get(steps, name["of"])
        ),
    )
