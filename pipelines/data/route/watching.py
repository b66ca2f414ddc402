"""The values of watched fields as Column expressions. A source without watches costs one look at a null."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as fn

from pipelines.data.route import matching
from shared.contracts.field_counts import MAX_TEXT_CHARACTERS

MOST_VALUES: Final = 20
"""Values of one field that are taken of one event: an array may have any number."""

_CHARACTERS: Final = MAX_TEXT_CHARACTERS + 1
"""With the tag of a text."""


def watched_values(text: Column, watches: Column) -> Column:
    """A map from each watching pipe to the header WATCHED of its copy; null without watches.

    Args:
        text: the event's data.
        watches: as in `schema.SOURCE_ROW`.
    """
    entries = matching.computed_once(
        matching.members(text),
        lambda top: fn.transform(
            watches, lambda watch: fn.struct(watch["pipe"], fn.to_json(_fields(top, watch["fields"])))
        ),
    )
    return fn.when(watches.isNotNull(), fn.map_from_entries(entries))


def _fields(top: Column, fields: Column) -> Column:
    return fn.transform(
        fields,
        lambda each: fn.struct(
            each["field"].alias("field"),
            each["kind"].alias("kind"),
            _values(top, each["path"]).alias("values"),
        ),
    )


def _values(top: Column, path: Column) -> Column:
    return fn.transform(
        fn.slice(matching.leaves(top, path), 1, MOST_VALUES),
        lambda leaf: fn.substring(leaf, 1, _CHARACTERS),
    )
