"""Spark's programs of a local side: its driver, a standby, and the cluster if it has workers."""

import sys
from collections.abc import Sequence
from typing import Final

from scripts.local.class_archives import spark_archive
from scripts.local.cluster import (
    cluster_environment,
    driver_folder,
    master_command,
    master_url,
    slots,
    worker_command,
)
from scripts.local.jars import Jars
from scripts.local.processes.program import Program, side_environment, unless_set
from scripts.local.side import Side

SPARK: Final = "spark"
STANDBY: Final = "spark_standby"
MASTER: Final = "spark_master"
WORKERS: Final = tuple(f"spark_worker-{number}" for number in range(1, 9))
"""All workers that a side can have; `hifi scale` starts and stops them."""

EXECUTORS: Final = "spark_executors"
"""Passes on what executors write to their logs."""

TWINS_TRIGGER: Final = "300 milliseconds"
"""Time between transmit's micro-batches on a side of twins, which share the cores: see ADR 51."""

TASK_TRIES: Final = 16
"""Tries of a task if its Python worker dies; as on the twins (`spark.task.maxFailures`)."""


def cluster(side: Side, jars: Jars) -> list[Program]:
    """Spark's master, every worker that can be started, and what follows their executors' logs."""
    logs = [sys.executable, "-m", "shared.spark.executor_logs", str(side.executors)]
    return [
        _of_cluster(side, MASTER, master_command(side), {}),
        *(_of_cluster(side, name, worker_command(side), _rehearsals(side, jars)) for name in WORKERS),
        _of_cluster(side, EXECUTORS, logs, {}),
    ]


def _rehearsals(side: Side, jars: Jars) -> dict[str, str]:
    """Variables of executors, which rehearse before they take tasks: each by itself, as a driver would."""
    return {
        "HIFI_DRIVER_URL": side.spark_url,
        **_queries_run(side, jars),
        "HIFI_MASTER": _all_in_the_driver(side),
    }


def _queries_run(side: Side, jars: Jars) -> dict[str, str]:
    return {
        "HIFI_CHECKPOINTS": str(side.checkpoints),
        "HIFI_JARS": str(jars.spark),
        "HIFI_CLASS_ARCHIVE": str(spark_archive(jars.spark).file),
        # The workers need the packages of this environment.
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def _all_in_the_driver(side: Side) -> str:
    return f"local[{slots(side)},{TASK_TRIES}]"


def _of_cluster(side: Side, name: str, command: list[str], more: dict[str, str]) -> Program:
    return Program(
        name=name,
        command=command,
        environment=side_environment(side, name) | cluster_environment(side) | more,
        # After the drivers: they run the drivers' executors.
        group="cluster",
        order=15,
        start_seconds=3,
        stop_seconds=20,
    )


def drivers(side: Side, jars: Jars, queries: Sequence[str]) -> list[Program]:
    """The Spark driver; with a standby two that are alike, of which the first to start is at work first."""
    if not side.standby:
        return [_spark(side, jars, queries, SPARK, {})]
    both = {"HIFI_REHEARSAL_PORT": str(side.rehearsal_port), "HIFI_WARM_FILE": str(side.spark_warm)}
    other = both | {
        "HIFI_METRICS_PORT": str(side.standby_port),
        "HIFI_READY_FILE": str(side.standby_ready),
    }
    return [_spark(side, jars, queries, SPARK, both), _spark(side, jars, queries, STANDBY, other)]


def _spark(side: Side, jars: Jars, queries: Sequence[str], name: str, more: dict[str, str]) -> Program:
    return Program(
        name=name,
        command=[sys.executable, "-m", "scripts.local.processes.driver", *queries],
        environment=side_environment(side, name)
        | {
            **_queries_run(side, jars),
            "HIFI_READY_FILE": str(side.spark_ready),
            "HIFI_METRICS_PORT": str(side.spark_port),
            "HIFI_MASTER": master_url(side) if side.workers else _all_in_the_driver(side),
            **(unless_set({"HIFI_FAST_TRIGGER": TWINS_TRIGGER}) if side.shared else {}),
            **(cluster_environment(side) if side.workers else {}),
            **more,
        },
        group="engine",
        order=20,
        start_seconds=5,
        stop_seconds=45,
        folder=str(driver_folder(side)) if side.workers else "",
    )
