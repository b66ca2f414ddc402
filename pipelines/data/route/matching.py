"""Event patterns as Column expressions: which pipes of its source an event matches.

The rows of `schema` are data, so one plan serves every pattern. Values are compared as tagged texts
(see `shared.contracts.matchers`). Spark interprets lambdas but compiles functions, so `arrays_overlap` and
`get` are used wherever possible; the data is parsed only if a remaining alternative has a condition on it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as fn

from pipelines.data.route.event_values import at_slot
from shared.contracts.matchers import STRING_TAG


def open_alternatives(alternatives: Column, bucket: Column, values: Column) -> Column:
    """The alternatives that match the event's sample bucket and its attributes."""
    return fn.filter(alternatives, lambda a: (bucket < a["threshold"]) & _all_match(a["attributes"], values))


def sampled_alternatives(alternatives: Column, bucket: Column) -> Column:
    """The alternatives that match the event's sample bucket."""
    return fn.filter(alternatives, lambda a: bucket < a["threshold"])


def look_at_data(alternatives: Column) -> Column:
    """Whether one of the alternatives has a condition on data."""
    return fn.exists(alternatives, lambda a: fn.size(a["data"]) > 0)


def pipes_of(alternatives: Column) -> Column:
    """The names of their pipes, each once."""
    return fn.array_distinct(alternatives["pipe"])


def met_by_data(alternatives: Column, values: Column) -> Column:
    """The alternatives with no condition on data that these values do not meet."""
    return fn.filter(alternatives, lambda a: _all_match(a["data"], values))


def _all_match(conditions: Column, values: Column) -> Column:
    """Whether every condition matches the values in its slot."""
    return fn.forall(conditions, lambda c: _condition_matches(c, at_slot(values, c["slot"])))


def _condition_matches(condition: Column, values: Column) -> Column:
    return fn.exists(condition["matchers"], lambda matcher: _matcher_matches(matcher, values))


def _matcher_matches(matcher: Column, values: Column) -> Column:
    op = matcher["op"]
    return (
        fn.when((op == "equals") & ~matcher["negate"], _equals_any(matcher, values))
        .when(op == "absent", fn.size(values) == 0)
        .when(op == "present", fn.size(values) > 0)
        .otherwise(fn.exists(values, lambda value: _value_matches(matcher, value)))
    )


def _equals_any(matcher: Column, values: Column) -> Column:
    """Equal as texts, which is nearly always enough, or as numbers."""
    doubles = fn.transform(fn.filter(values, _is_double), lambda value: value.try_cast("double"))
    wanted = (fn.size(matcher["numbers"]) > 0) & fn.exists(values, _is_double)
    same = fn.when(wanted, fn.arrays_overlap(doubles, matcher["numbers"])).otherwise(fn.lit(False))
    return fn.arrays_overlap(values, matcher["values"]) | same


def _is_double(value: Column) -> Column:
    """Whether a value is a number that the event wrote with a fraction or an exponent."""
    return ~fn.startswith(value, fn.lit(STRING_TAG)) & (
        fn.contains(value, fn.lit(".")) | fn.contains(value, fn.lit("E"))
    )


def _is_number(value: Column) -> Column:
    """Whether a value is a number. Spark would raise and catch two errors to cast another text."""
    return ~fn.startswith(value, fn.lit(STRING_TAG)) & ~value.isin("true", "false", "null")


def _value_matches(matcher: Column, value: Column) -> Column:
    number = fn.when(_is_number(value), value.try_cast("double"))
    between = fn.coalesce(number.between(matcher["low"], matcher["high"]), fn.lit(False))
    found = fn.when(matcher["op"] == "equals", _is_listed(matcher, value)).otherwise(
        fn.exists(matcher["values"], lambda wanted: _compares(matcher["op"], value, wanted))
    )
    return fn.when(matcher["op"] == "between", between).otherwise(found != matcher["negate"])


def _is_listed(matcher: Column, value: Column) -> Column:
    """Whether a value equals one that the matcher lists, as a text or as a number."""
    number = fn.when(_is_double(value), value.try_cast("double"))
    same = fn.coalesce(fn.array_contains(matcher["numbers"], number), fn.lit(False))
    return fn.array_contains(matcher["values"], value) | same


def _compares(op: Column, value: Column, wanted: Column) -> Column:
    """One comparison of a tagged text; `suffix` must not see the tag, and only copies a text to lower it."""
    is_string = fn.startswith(value, fn.lit(STRING_TAG))
    longer = fn.octet_length(value) > fn.octet_length(wanted)
    bare = fn.substring(value, 2, 2**31 - 1)
    return (
        fn.when(op == "prefix", fn.startswith(value, wanted))
        .when(op == "suffix", is_string & longer & fn.endswith(value, wanted))
        .when(op == "equals_ignore_case", fn.lower(value) == fn.lower(wanted))
        .when(op == "wildcard", fn.rlike(value, wanted))
        .when(op == "prefix_ignore_case", fn.startswith(fn.lower(value), fn.lower(wanted)))
        .when(op == "suffix_ignore_case", is_string & fn.endswith(fn.lower(bare), fn.lower(wanted)))
        .otherwise(fn.lit(False))
    )
