"""The values of an event that patterns and watches look at, as Column expressions: tagged texts (see
`shared.contracts.matchers`), a list for each slot. Those of its data are in `data_values`.

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
