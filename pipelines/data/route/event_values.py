"""The values of an event that patterns and watches look at, as Column expressions: tagged texts (see
`shared.contracts.matchers`).

Spark interprets lambdas but compiles functions, so functions are used wherever possible.
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


def at_slot(values: Column, slot: Column) -> Column:
    """The values of a slot; none if there is no such slot."""
    return fn.coalesce(fn.get(values, slot), _none())


def members(text: Column) -> Column:
    """The members of a JSON object by name, parsed; null for any other text."""
    return object_members(fn.try_parse_json(text))


def leaves(top: Column, path: Column) -> Column:
    """The tagged texts of all leaves at a path below `members`."""
    return _leaves(_nodes(top, path))


def _nodes(top: Column, path: Column) -> Column:
    """The variants at a path below the top level's members: several where it crosses arrays of objects."""
    return fn.aggregate(
        inner_names(path),
        outer_nodes(top, path),
        lambda nodes, name: fn.flatten(fn.transform(nodes, lambda n: _members(n, name))),
    )


def outer_nodes(top: Column, path: Column) -> Column:
    """The member at a path's first name, if it is there."""
    return fn.array_compact(fn.array(fn.try_element_at(top, fn.get(path, fn.lit(0)))))


def inner_names(path: Column) -> Column:
    """The other names of a path."""
    return fn.slice(path, 2, fn.size(path))


def elements(node: Column) -> Column:
    """The elements of an array; anything else is one by itself."""
    return fn.coalesce(fn.try_variant_get(node, "$", "array<variant>"), fn.array(node))


def object_members(node: Column) -> Column:
    """The members of an object by name; null for anything else."""
    return fn.try_variant_get(node, "$", "map<string,variant>")


def _members(node: Column, name: Column) -> Column:
    """The member `name` of an object, or of each object in an array."""
    return fn.array_compact(
        fn.transform(elements(node), lambda element: fn.try_element_at(object_members(element), name))
    )


def _leaves(nodes: Column) -> Column:
    """Tagged texts of scalars and of arrays' elements; objects are not leaves."""
    texts = fn.flatten(fn.transform(nodes, lambda node: fn.transform(elements(node), _tagged)))
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
