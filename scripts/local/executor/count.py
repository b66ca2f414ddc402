"""Executors of a side with Spark workers that take tasks, as its driver counts them."""

from prometheus_client.parser import text_string_to_metric_families

from scripts.local.scraped import scraped
from shared.runtime.metrics import SparkMetric


def executor_count(driver_url: str) -> int | None:
    """How many executors take the driver's tasks; None while it does not answer, or with something else.

    Args:
        driver_url: of the driver's health and metrics.
    """
    metrics = scraped(driver_url)
    return None if metrics is None else _counted(metrics)


def _counted(metrics: str) -> int | None:
    try:
        families = list(text_string_to_metric_families(metrics))
    except ValueError:
        return None
    samples = (sample for family in families for sample in family.samples)
    return next((int(sample.value) for sample in samples if sample.name == SparkMetric.EXECUTORS), None)
