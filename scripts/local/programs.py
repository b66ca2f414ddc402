"""What a local side runs: brokers, collect, the Spark driver, retry."""

import sys
from dataclasses import dataclass
from typing import Final

from scripts.local import brokers
from scripts.local.jars import Jars
from scripts.local.processes import OF_SIDE, PROGRAM
from scripts.local.side import BROKER_IDS, Side

BROKERS: Final = tuple(f"broker-{broker}" for broker in BROKER_IDS)
COLLECT: Final = "collect"
SPARK: Final = "spark"
RETRY: Final = "retry"

SPARK_SLOTS: Final = 8
"""Task slots of the driver: as many as partitions of all real-time queries, and some for micro-batches."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """One supervised process."""

    name: str
    command: list[str]
    environment: dict[str, str]
    group: str
    """Programs of a group stop at the same moment."""

    order: int
    """Groups with a higher number stop earlier."""

    start_seconds: int
    """Alive for so long, it counts as started; ended earlier, the next try waits longer."""

    stop_seconds: int
    """From SIGTERM to SIGKILL."""


def programs(side: Side, jars: Jars) -> list[Program]:
    """Everything of a side, in the order of starting."""
    return [
        *(_broker(side, broker, jars) for broker in BROKER_IDS),
        _spark(side, jars),
        _retry(side),
        _collect(side),
    ]


def _environment(side: Side, name: str) -> dict[str, str]:
    return {**side.environment(), OF_SIDE: str(side.root), PROGRAM: name}


def _broker(side: Side, broker: int, jars: Jars) -> Program:
    name = BROKERS[broker - 1]
    return Program(
        name=name,
        command=brokers.command(side, broker, jars.broker),
        environment=_environment(side, name),
        # Together: a broker that leaves in good order asks the controllers, and two of them must be alive.
        group="brokers",
        order=10,
        start_seconds=3,
        stop_seconds=20,
    )


def _spark(side: Side, jars: Jars) -> Program:
    return Program(
        name=SPARK,
        command=[sys.executable, "-m", "scripts.local.driver"],
        environment=_environment(side, SPARK)
        | {
            "HIFI_CHECKPOINTS": str(side.checkpoints),
            "HIFI_JARS": str(jars.spark),
            "HIFI_READY_FILE": str(side.spark_ready),
            "HIFI_MASTER": f"local[{max(SPARK_SLOTS, 3 * side.partitions + 2)}]",
            # The workers need this environment's packages.
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        },
        group=SPARK,
        order=20,
        start_seconds=5,
        stop_seconds=45,
    )


def _retry(side: Side) -> Program:
    return Program(
        name=RETRY,
        command=[sys.executable, "-m", "pipelines.data.retry"],
        environment=_environment(side, RETRY) | {"HIFI_PORT": str(side.retry_port)},
        group=RETRY,
        order=25,
        start_seconds=1,
        stop_seconds=10,
    )


def _collect(side: Side) -> Program:
    return Program(
        name=COLLECT,
        command=[sys.executable, "-m", "pipelines.data.collect"],
        environment=_environment(side, COLLECT) | {"HIFI_PORT": str(side.collect_port)},
        group=COLLECT,
        order=30,
        start_seconds=1,
        stop_seconds=30,
    )
