"""`shared.contracts.tracing` as Column expressions: which events are traced, and under which traceparent."""

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shared.contracts import tracing

_CARRY = 2**64 % tracing.ONE_IN
"""The amount that the hash's modulo lacks where Spark reads its 64 bits as a negative number."""


def is_sampled(event_id: Column) -> Column:
    """`tracing.is_chosen`."""
    signed = fn.xxhash64(event_id)
    return fn.pmod(signed + fn.when(signed < 0, _CARRY).otherwise(0), fn.lit(tracing.ONE_IN)) == 0


def own_traceparent(tenant: Column, event_id: Column) -> Column:
    """`tracing.own_traceparent`."""
    span = fn.left(_digest(tenant, event_id, fn.lit(tracing.COLLECT)), fn.lit(tracing.SPAN_DIGITS))
    return fn.concat_ws(
        "-", fn.lit(tracing.VERSION), _digest(tenant, event_id), span, fn.lit(tracing.SAMPLED_FLAGS)
    )


def _digest(*parts: Column) -> Column:
    return fn.md5(fn.concat_ws("\0", *parts).cast("binary"))
