"""The values of watched fields as Column expressions. A source without watches costs one look at a null."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as fn

from pipelines.data.route.event_values import at_slot, computed_once
from shared.contracts.field_counts import MAX_TEXT_CHARACTERS

MOST_VALUES: Final = 20
"""Values of one field that are taken of one event: an array may have any number."""

_CHARACTERS: Final = MAX_TEXT_CHARACTERS + 1
"""With the tag of a text."""


def watched_values(pipes: Column, watches: Column, values: Column) -> Column:
    """For each pipe the header WATCHED of its copy, or null if it watches nothing; null without watches.

    Args:
        pipes: names.
        watches: as in `schema.SOURCE_ROW`.
        values: the event's, by slot.
    """
    headers = computed_once(
        watches["pipe"],
        lambda watching: fn.transform(
            pipes,
            lambda pipe: computed_once(_fields_of(pipe, watches, watching), lambda of: _header(of, values)),
        ),
    )
    return fn.when(watches.isNotNull(), headers)


def _fields_of(pipe: Column, watches: Column, watching: Column) -> Column:
    """The fields that a pipe watches, or null; `watching` has the names of all that do."""
    return fn.get(watches, (fn.array_position(watching, pipe) - 1).cast("int"))["fields"]


def _header(fields: Column, values: Column) -> Column:
    seen = fn.transform(
        fields,
        lambda each: fn.struct(
            each["field"].alias("field"),
            each["kind"].alias("kind"),
            _first(at_slot(values, each["slot"])).alias("values"),
        ),
    )
    return fn.when(fields.isNotNull(), fn.to_json(seen))


def _first(values: Column) -> Column:
    return fn.transform(fn.slice(values, 1, MOST_VALUES), lambda leaf: fn.substring(leaf, 1, _CHARACTERS))
