"""Spark's own master and workers on this machine, as the twins run them: configuration and command lines.

The twins' configuration is used as it is, with this machine's paths and addresses. On a twin each node is an
application with executors of its own; here all nodes are one, so that an executor has slots for all of them.
"""

import secrets
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scripts.local.addresses import HOST
from scripts.local.pyspark_package import pyspark_folder
from scripts.local.side import Side
from scripts.local.spark_image import twins_settings, write_configuration
from shared.runtime.jvm import java

_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_DAEMON_MEMORY: Final = "256m"
_EXECUTOR_MEMORY: Final = "1g"
"""The same as on twins: a worker has room for one executor."""

_JAVA_OPTIONS: Final = "spark.executor.extraJavaOptions"
_EXECUTOR_JAVA_HOME: Final = "spark.executorEnv.JAVA_HOME"
REHEARSED_EXECUTOR: Final = "scripts.local.executor"

_TEMPORARY: Final = "../../.."
"""The side's temporary folder, from where executors and the driver run. A whole path may be too long for the
sockets of Python workers."""

_LEAST_SLOTS: Final = 8


def slots(side: Side) -> int:
    """Task slots of a driver that runs all tasks, or of each executor.

    One for each partition of the real-time queries, and some for micro-batches. An executor has enough for
    all of them, so that all others can be lost.
    """
    return max(_LEAST_SLOTS, 3 * side.partitions + 2)


def master_url(side: Side) -> str:
    """Where drivers and workers find the master."""
    return f"spark://{HOST}:{side.master_port}"


def master_command(side: Side) -> list[str]:
    """The master: drivers and workers register with it."""
    ports = ("--port", str(side.master_port), "--webui-port", str(side.master_state_port))
    return [_spark_class(), _MASTER, "--host", HOST, *ports]


def worker_command(side: Side) -> list[str]:
    """A worker: starts one executor for the driver."""
    room = ("--cores", str(slots(side)), "--memory", _EXECUTOR_MEMORY)
    where = ("--host", HOST, "--webui-port", "0", "--work-dir", str(side.executors))
    return [_spark_class(), _WORKER, *where, *room, master_url(side)]


def _spark_class() -> str:
    return str(pyspark_folder() / "bin" / "spark-class")


def driver_folder(side: Side) -> Path:
    """Where the driver runs: as deep below the side's temporary folder as its executors, with which it shares
    the path to their sockets."""
    return side.executors / "driver" / "0"


def cluster_environment(side: Side) -> dict[str, str]:
    """Variables of master, workers and drivers."""
    return {
        "SPARK_CONF_DIR": str(side.spark_configuration),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(side.temporary),
        "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
        "JAVA_HOME": _java_home(),
    }


def _java_home() -> str:
    return str(Path(java()).resolve().parents[1])


def configure(side: Side, jars: Path, nodes: Sequence[str]) -> None:
    """Write the configuration of master, workers and drivers, with a new secret.

    Args:
        side: one with workers.
        jars: folder of the Kafka connector's jars.
        nodes: the nodes with the queries that the driver runs.
    """
    twins = twins_settings(side.spark_configuration, jars)
    any_port = ("spark.driver.port", "spark.driver.blockManager.port", "spark.blockManager.port")
    here = {
        **dict.fromkeys(any_port, "0"),
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.executor.cores": str(slots(side)),
        "spark.executor.memory": _EXECUTOR_MEMORY,
        _EXECUTOR_JAVA_HOME: str(_write_executor_java(side, nodes)),
        _JAVA_OPTIONS: f'{twins[_JAVA_OPTIONS]} "-Djava.io.tmpdir={side.temporary}"',
        "spark.deploy.recoveryDirectory": str(side.temporary / "master"),
        "spark.python.unix.domain.socket.dir": _TEMPORARY,
        "spark.authenticate.secret": secrets.token_hex(32),
    }
    write_configuration(side.spark_configuration, twins | here)


def _write_executor_java(side: Side, nodes: Sequence[str]) -> Path:
    """Write what workers run in place of `java`; returns the folder that is its JAVA_HOME."""
    home = side.spark_configuration / "executor-java"
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    command = shlex.join([sys.executable, "-m", REHEARSED_EXECUTOR, ",".join(nodes)])
    script.write_text(f'#!/bin/sh\nJAVA_HOME={shlex.quote(_java_home())} exec {command} "$@"\n')
    script.chmod(0o700)
    return home
