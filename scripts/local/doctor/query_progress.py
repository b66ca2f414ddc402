"""Checks of `hifi doctor` on the Spark driver at work: does it answer, do its queries end their batches."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from prometheus_client.samples import Sample

from scripts.local.addresses import HOST
from scripts.local.doctor.checks import Check
from scripts.local.processes.spark_programs import STANDBY
from scripts.local.scraped import samples
from scripts.local.side import Side
from shared.kafka.consumer_lag import Lag
from shared.runtime.metrics import SparkMetric

_SILENT_SECONDS: Final = 60.0
"""A batch takes 15 s at most where records wait. ingest and route end batches also without any."""

_NAME: Final = "batches"
_LOOK_SECONDS: Final = 25.0
_PAUSE_SECONDS: Final = 1.0


def query_progress(  # noqa: PLR0913  # the driver, and for how long it is watched
    side: Side,
    driver: str,
    pid: int,
    lags: Sequence[Lag],
    *,
    seconds: float = _LOOK_SECONDS,
    pause: float = _PAUSE_SECONDS,
) -> Check:
    """Check the driver at work; looks again for a while before it says that something is wrong.

    A query that was idle for long has records for some seconds before its next batch ends, and a busy machine
    may be slow to answer.

    Args:
        side: that of the driver.
        driver: its program.
        pid: its process.
        lags: of the nodes.
        seconds: for which it looks again.
        pause: seconds between two looks.
    """
    url = f"http://{HOST}:{side.standby_port if driver == STANDBY else side.spark_port}"
    unread = {lag.node: lag.records or 0 for lag in lags}
    deadline = time.monotonic() + seconds
    while not (check := progress_check(side, driver, pid, _ages(samples(url)), unread)).ok:
        if time.monotonic() > deadline:
            break
        time.sleep(pause)
    return check


def _ages(metrics: Sequence[Sample] | None) -> dict[str, float] | None:
    """Seconds since the end of the last batch, by query."""
    if not any(each.name == SparkMetric.READY for each in metrics or ()):
        return None
    return {
        each.labels["query"]: each.value for each in metrics or () if each.name == SparkMetric.PROGRESS_AGE
    }


def progress_check(
    side: Side, driver: str, pid: int, ages: Mapping[str, float] | None, unread: Mapping[str, int]
) -> Check:
    """Check that a driver answers and that no query stands still while it has records to read.

    Args:
        side: that of the driver.
        driver: its program.
        pid: its process.
        ages: by query, seconds since the end of its last batch; None if the driver does not answer.
        unread: by query, records that it has not read.
    """
    bad = partial(Check, name=_NAME, fix=_fix(side, driver, pid))
    if ages is None:
        return bad(found="the driver does not answer: it hangs or is suspended")
    if not ages:
        return Check(name=_NAME, found="none has ended yet")
    if (least := min(ages.values())) > _SILENT_SECONDS:
        return bad(found=f"none has ended for {least:,.0f} s: the driver hangs, or no broker answers it")
    stand = sorted(each for each, age in ages.items() if age > _SILENT_SECONDS and unread.get(each, 0))
    if stand:
        said = ", ".join(f"{each} for {ages[each]:,.0f} s" for each in stand)
        return bad(found=f"records wait, and no batch has ended of {said}")
    return Check(name=_NAME, found=f"the last one ended {least:,.0f} s ago")


def _fix(side: Side, driver: str, pid: int) -> str:
    log = side.logs / f"{driver}.log"
    return f"tail {log}; if the driver hangs, kill -9 {pid}: another one goes on, and nothing is lost"
