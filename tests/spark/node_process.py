"""A node's Spark application as a process group that a test can kill."""

import os
import subprocess
import sys
from pathlib import Path

from shared.runtime.settings import SparkSettings
from tests.harness.service_process import hifi_settings


def start(
    module: str, bootstrap: str, settings: SparkSettings, checkpoints: Path, log: Path, **more: str
) -> "subprocess.Popen[bytes]":
    """Start `python -m MODULE` as the leader of a process group; its output is appended to `log`."""
    given = {
        "bootstrap": bootstrap,
        "checkpoints": str(checkpoints),
        "jars": str(settings.jars),
        "class_archive": str(settings.class_archive),
        "master": "local[2]",
        "metrics_port": "0",
    }
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable} | hifi_settings(given | more)
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", module],
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def kill(process: "subprocess.Popen[bytes]") -> None:
    """SIGKILL the process group, with its JVM and Python workers."""
    os.killpg(process.pid, 9)
    process.wait()
