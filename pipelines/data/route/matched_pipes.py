"""The pipes that an event matches, and the values that those watch, as one Column expression."""

from pyspark.sql import Column
from pyspark.sql import functions as fn

from pipelines.data.route import matching, matching_steps, watching
from pipelines.data.route.data_values import field_values, members
from pipelines.data.route.event_values import computed_once


def matched_pipes() -> Column:
    """`pipes`, their names, and `watched`, what each of them sees of its watched fields (see `watching`).

    Null without an alternative; `pipes` is null if matching would take too many steps.

    Of a row joined with `schema.SOURCE_ROW`, with its `bucket`, its attributes' `values`, and whether it may
    be `costly`. Those are columns because they need no lambda: inside one Spark would interpret them. They
    are used twice here, so that the optimizer does not inline them.
    """
    alternatives, bucket, values = fn.col("alternatives"), fn.col("bucket"), fn.col("values")
    sampled = matching.sampled_alternatives(alternatives, bucket)
    costly = matching_steps.costly_attributes(sampled, values, fn.col("attribute_steps"))
    left = matching.open_alternatives(alternatives, bucket, values)
    by_data = computed_once(left, _by_data)
    found = fn.when(fn.col("data_tree").isNotNull(), by_data).otherwise(_found(matching.pipes_of(left)))
    return fn.when(alternatives.isNotNull(), fn.when(costly, _found(_null())).otherwise(found))


def _by_data(left: Column) -> Column:
    """Of the alternatives that are left; data is parsed for their conditions on it and for watches only."""
    watches = fn.col("watches").isNotNull() & (fn.size(left) > 0)
    by_values = computed_once(_values(), lambda values: _by_values(left, values))
    return fn.when(matching.look_at_data(left) | watches, by_values).otherwise(
        _found(matching.pipes_of(left))
    )


def _values() -> Column:
    """The tagged texts of all leaves at each field of `data_tree`; null if that would take too many steps.

    Text that is not a JSON object has no leaves.
    """
    value, tree = fn.col("value"), fn.col("data_tree")

    def read(top: Column) -> Column:
        costly = fn.col("costly") & matching_steps.costly_to_read(top, tree, value)
        return fn.when(~costly, field_values(top, tree))

    return computed_once(members(value.cast("string")), read)


def _by_values(left: Column, values: Column) -> Column:
    costly = values.isNull() | (fn.col("costly") & matching_steps.costly_to_compare(left, "data", values))
    pipes = computed_once(
        matching.pipes_of(matching.met_by_data(left, values)),
        lambda names: _found(names, watching.watched_values(names, fn.col("watches"), values)),
    )
    return fn.when(costly, _found(_null())).otherwise(pipes)


def _found(pipes: Column, watched: Column | None = None) -> Column:
    return fn.struct(pipes.alias("pipes"), (_null() if watched is None else watched).alias("watched"))


def _null() -> Column:
    return fn.lit(None).cast("array<string>")
