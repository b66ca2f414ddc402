"""Executors of a side with Spark workers that take tasks, as its driver counts them."""

from scripts.local.scraped import samples
from shared.runtime.metrics import SparkMetric


def executor_count(driver_url: str) -> int | None:
    """How many executors take the driver's tasks; None while it does not answer, or with something else.

    Args:
        driver_url: of the driver's health and metrics.
    """
    found = samples(driver_url) or ()
    return next((int(each.value) for each in found if each.name == SparkMetric.EXECUTORS), None)
