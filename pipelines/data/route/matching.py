"""Event patterns as Column expressions: which pipes of its source an event matches.

The rows of `schema` are data, so one plan serves every pattern. Values are compared as tagged texts
(see `shared.contracts.matchers`). Spark interprets lambdas but compiles functions, so `arrays_overlap` and
`get` are used wherever possible; the data is parsed only if a remaining alternative has a condition on it.
"""

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shared.contracts.matchers import STRING_TAG
from shared.spark.columns import header_value

_UNROLLED: Final = 6


def computed_once(value: Column, body: Callable[[Column], Column]) -> Column:
    """`body(value)` with `value` computed once: Spark would repeat its expression in each lambda."""
    return fn.get(fn.transform(fn.array(value), body), fn.lit(0))


def attribute_values(headers: Column, names: Column, wanted: Column) -> Column:
    """For each header in `wanted`: its value as a list of one tagged text, or an empty list.

    The first few are unrolled, as patterns rarely use more: outside a lambda Spark compiles the expression.
    """
    spelt = (_one(header_value(headers, names, fn.get(wanted, fn.lit(at)))) for at in range(_UNROLLED))
    others = fn.transform(
        fn.slice(wanted, _UNROLLED + 1, fn.size(wanted)), lambda key: _one(header_value(headers, names, key))
    )
    first = fn.array(*spelt)
    return fn.when(fn.size(wanted) > _UNROLLED, fn.concat(first, others)).otherwise(first)


def _one(text: Column) -> Column:
    return fn.when(text.isNull(), _none()).otherwise(fn.array(fn.concat(fn.lit(STRING_TAG), text)))


def _none() -> Column:
    return fn.array().cast("array<string>")


def data_values(text: Column, paths: Column) -> Column:
    """For each path: the tagged texts of all leaves there. Parses the event's data once.

    Text that is not a JSON object has no leaves.
    """
    return computed_once(members(text), lambda top: fn.transform(paths, lambda path: leaves(top, path)))


def members(text: Column) -> Column:
    """The members of a JSON object by name, parsed; null for any other text."""
    return fn.try_variant_get(fn.try_parse_json(text), "$", "map<string,variant>")


def leaves(top: Column, path: Column) -> Column:
    """The tagged texts of all leaves at a path below `members`."""
    return _leaves(_nodes(top, path))


def _nodes(top: Column, path: Column) -> Column:
    """The variants at a path below the top level's members: several where it crosses arrays of objects."""
    first = fn.array_compact(fn.array(fn.try_element_at(top, fn.get(path, fn.lit(0)))))
    rest = fn.slice(path, 2, fn.size(path))
    return fn.aggregate(
        rest, first, lambda nodes, name: fn.flatten(fn.transform(nodes, lambda n: _members(n, name)))
    )


def _members(node: Column, name: Column) -> Column:
    """The member `name` of an object, or of each object in an array."""
    return fn.array_compact(
        fn.transform(_elements(node), lambda element: fn.try_element_at(_object(element), name))
    )


def _object(node: Column) -> Column:
    return fn.try_variant_get(node, "$", "map<string,variant>")


def _elements(node: Column) -> Column:
    return fn.coalesce(fn.try_variant_get(node, "$", "array<variant>"), fn.array(node))


def _leaves(nodes: Column) -> Column:
    """Tagged texts of scalars and of arrays' elements; objects are not leaves."""
    texts = fn.flatten(fn.transform(nodes, lambda node: fn.transform(_elements(node), _tagged)))
    return fn.filter(
        texts, lambda text: ~fn.startswith(text, fn.lit("{")) & ~fn.startswith(text, fn.lit("["))
    )


def _tagged(node: Column) -> Column:
    return computed_once(
        fn.to_json(node),
        lambda json: fn.when(
            fn.startswith(json, fn.lit(STRING_TAG)),
            fn.concat(fn.lit(STRING_TAG), fn.try_variant_get(node, "$", "string")),
        ).otherwise(json),
    )


def open_alternatives(alternatives: Column, bucket: Column, values: Column) -> Column:
    """The alternatives that match the event's sample bucket and its attributes."""
    return fn.filter(alternatives, lambda a: (bucket < a["threshold"]) & all_match(a["attributes"], values))


def matching_pipes(alternatives: Column, data: Column) -> Column:
    """The names of the pipes with an alternative that matches the data, each once.

    `data` is only computed if one of the alternatives has a condition on it.
    """
    looked = fn.when(fn.exists(alternatives, lambda a: fn.size(a["data"]) > 0), data)
    met = computed_once(
        looked, lambda values: fn.filter(alternatives, lambda a: all_match(a["data"], values))
    )
    return fn.array_distinct(met["pipe"])


def all_match(conditions: Column, values: Column) -> Column:
    """Whether every condition matches the values in its slot."""
    return fn.forall(
        conditions, lambda c: _condition_matches(c, fn.coalesce(fn.get(values, c["slot"]), _none()))
    )


def _condition_matches(condition: Column, values: Column) -> Column:
    return fn.exists(condition["matchers"], lambda matcher: _matcher_matches(matcher, values))


def _matcher_matches(matcher: Column, values: Column) -> Column:
    op = matcher["op"]
    return (
        fn.when((op == "equals") & ~matcher["negate"], _equals_any(values, matcher["values"]))
        .when(op == "absent", fn.size(values) == 0)
        .when(op == "present", fn.size(values) > 0)
        .otherwise(fn.exists(values, lambda value: _value_matches(matcher, value)))
    )


def _equals_any(values: Column, wanted: Column) -> Column:
    """Equal as texts, which is nearly always enough, or as numbers."""
    return fn.arrays_overlap(values, wanted) | fn.exists(values, lambda value: _same_double(value, wanted))


def _same_double(value: Column, wanted: Column) -> Column:
    """Whether a number with a fraction or an exponent has the value of another in `wanted`."""
    plain = fn.startswith(value, fn.lit(STRING_TAG)) | ~(
        fn.contains(value, fn.lit(".")) | fn.contains(value, fn.lit("E"))
    )
    same = fn.exists(
        wanted, lambda one: fn.coalesce(value.try_cast("double") == one.try_cast("double"), fn.lit(False))
    )
    return fn.when(plain, fn.lit(False)).otherwise(same)


def _value_matches(matcher: Column, value: Column) -> Column:
    between = fn.coalesce(value.try_cast("double").between(matcher["low"], matcher["high"]), fn.lit(False))
    listed = fn.exists(matcher["values"], lambda wanted: _compares(matcher["op"], value, wanted))
    return fn.when(matcher["op"] == "between", between).otherwise(listed != matcher["negate"])


def _compares(op: Column, value: Column, wanted: Column) -> Column:
    """One comparison of a tagged text; `suffix` must not see the tag."""
    is_string = fn.startswith(value, fn.lit(STRING_TAG))
    bare = fn.substring(value, 2, 2**31 - 1)
    return (
        fn.when(op == "prefix", fn.startswith(value, wanted))
        .when(op == "equals", (value == wanted) | _same_double(value, fn.array(wanted)))
        .when(op == "suffix", is_string & fn.endswith(bare, wanted))
        .when(op == "equals_ignore_case", fn.lower(value) == fn.lower(wanted))
        .when(op == "wildcard", fn.rlike(value, wanted))
        .when(op == "prefix_ignore_case", fn.startswith(fn.lower(value), fn.lower(wanted)))
        .when(op == "suffix_ignore_case", is_string & fn.endswith(fn.lower(bare), fn.lower(wanted)))
        .otherwise(fn.lit(False))
    )
