"""Some of Spark's optimizer rules are excluded; no plan needs them."""

import re
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.data.ingest.transforms import events
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from pipelines.data.transmit.transforms import flatten
from shared.spark.session import HARMFUL_RULE, IDLE_RULES
from tests.spark.events import KAFKA_ROW

_EXCLUDED = "spark.sql.optimizer.excludedRules"


@pytest.fixture(params=["ingest", "route", "transmit"])
def node(request: pytest.FixtureRequest, spark: SparkSession) -> DataFrame:
    records = spark.createDataFrame(spark.sparkContext.emptyRDD(), KAFKA_ROW)
    if request.param == "ingest":
        return events(records)
    if request.param == "transmit":
        return flatten(records)
    return outbound(records, spark.createDataFrame(spark.sparkContext.emptyRDD(), SOURCE_ROW))


@pytest.fixture
def rules(spark: SparkSession) -> Iterator[str]:
    """The excluded rules of the session; restored after the test."""
    found = spark.conf.get(_EXCLUDED)
    assert found is not None
    yield found
    spark.conf.set(_EXCLUDED, found)


def test_the_rules_left_out_change_no_plan(node: DataFrame, rules: str, spark: SparkSession) -> None:
    assert set(rules.split(",")) == {HARMFUL_RULE, *IDLE_RULES}
    without = _optimized(node, spark)
    spark.conf.set(_EXCLUDED, HARMFUL_RULE)
    assert _optimized(node, spark) == without


def test_every_rule_left_out_is_one_that_spark_has(rules: str, spark: SparkSession) -> None:
    optimizer = spark._jsparkSession.sessionState().optimizer()
    spark.conf.set(_EXCLUDED, "")
    batches = optimizer.batches().mkString("\n")
    assert [rule for rule in rules.split(",") if rule.rsplit(".", 1)[1] not in batches] == []


def _optimized(frame: DataFrame, spark: SparkSession) -> str:
    """The optimized plan, without the numbers of expressions."""
    plan = frame._jdf.queryExecution().analyzed()
    assert spark._jvm is not None
    mode = spark._jvm.org.apache.spark.sql.execution.CommandExecutionMode.ALL()
    execution = spark._jsparkSession.sessionState().executePlan(plan, mode)
    return re.sub(r"#\d+L?", "#", execution.optimizedPlan().toString())
