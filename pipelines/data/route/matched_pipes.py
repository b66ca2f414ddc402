"""The pipes that an event matches, and the values that those watch, as one Column expression."""

from pyspark.sql import Column
from pyspark.sql import functions as fn

from pipelines.data.route import matching, matching_steps, watching
from pipelines.data.route.event_values import computed_once, leaves, members


def matched_pipes() -> Column:
    """`pipes`, their names, and `watched`, what each of them sees of its watched fields (see `watching`).

    Null without an alternative; `pipes` is null if matching would take too many steps.

    Of a row joined with `schema.SOURCE_ROW`, with its `bucket`, its attributes' `values`, and whether it may
    be `costly`. Those are columns because they need no lambda: inside one Spark would interpret them. They
    are used twice here, so that the optimizer does not inline them.
    """
    left = matching.open_alternatives(fn.col("alternatives"), fn.col("bucket"), fn.col("values"))
    by_data = computed_once(left, _by_data)
    found = fn.when(fn.size("data_paths") > 0, by_data).otherwise(_found(matching.pipes_of(left)))
    return fn.when(fn.col("alternatives").isNotNull(), found)


def _by_data(left: Column) -> Column:
    """Of the alternatives that are left; data is parsed for their conditions on it and for watches only."""
    watches = fn.col("watches").isNotNull() & (fn.size(left) > 0)
    by_values = computed_once(_values(), lambda values: _by_values(left, values))
    return fn.when(matching.look_at_data(left) | watches, by_values).otherwise(
        _found(matching.pipes_of(left))
    )


def _values() -> Column:
    """The tagged texts of all leaves at each of `data_paths`; null if that would take too many steps.

    Text that is not a JSON object has no leaves.
    """
    value, paths = fn.col("value"), fn.col("data_paths")

    def read(top: Column) -> Column:
        costly = fn.col("costly") & matching_steps.costly_to_read(top, paths, value)
        return fn.when(~costly, fn.transform(paths, lambda path: leaves(top, path)))

    return computed_once(members(value.cast("string")), read)


def _by_values(left: Column, values: Column) -> Column:
    costly = values.isNull() | (fn.col("costly") & matching_steps.costly_to_compare(left, values))
    pipes = computed_once(
        matching.pipes_of(matching.met_by_data(left, values)),
        lambda names: _found(names, watching.watched_values(names, fn.col("watches"), values)),
    )
    return fn.when(costly, _found(_null())).otherwise(pipes)


def _found(pipes: Column, watched: Column | None = None) -> Column:
    return fn.struct(pipes.alias("pipes"), (_null() if watched is None else watched).alias("watched"))


def _null() -> Column:
    return fn.lit(None).cast("array<string>")
