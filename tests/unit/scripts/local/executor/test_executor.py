"""An executor's command, and its start when no other executor works."""

import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from scripts.local.addresses import HOST
from scripts.local.executor.command import executor_command
from scripts.local.ports import free_base
from shared.runtime.metrics import SparkMetric
from tests.harness.http_server import QuietHandler, http_served

_MAIN = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_ARGUMENTS = (
    "-cp",
    "conf/:jars/*",
    "-Xmx1024M",
    "-Xms1g",
    "-XX:+UseParallelGC",
    "-Dspark.driver.port=7078",
    "-Dspark.authenticate=true",
    "-Dhifi.process=executor",
    _MAIN,
    "--driver-url",
    "spark://CoarseGrainedScheduler@127.0.0.1:7078",
    "--executor-id",
    "3",
)


def test_what_a_worker_asks_for_is_read_from_its_arguments() -> None:
    command = executor_command(_ARGUMENTS)
    assert command.properties == {"spark.driver.port": "7078", "spark.authenticate": "true"}
    assert command.arguments == _ARGUMENTS[9:]
    assert (command.memory, command.options) == ("1024M", "-XX:+UseParallelGC")


def test_a_java_that_is_to_run_another_program_is_refused() -> None:
    with pytest.raises(ValueError, match="index"):
        executor_command(("-cp", "jars/*", "org.apache.spark.deploy.worker.Worker"))


def test_an_executor_without_a_heap_is_refused() -> None:
    with pytest.raises(ValueError, match="-Xmx is missing"):
        executor_command(("-cp", "jars/*", _MAIN))


class Driver(QuietHandler, BaseHTTPRequestHandler):
    """A driver that counts no executor."""

    def do_GET(self) -> None:
        self.respond(200, f"{SparkMetric.EXECUTORS} 0.0\n".encode())


@pytest.mark.parametrize("answers", [True, pytest.param(False, marks=pytest.mark.proof)])
def test_an_executor_without_others_is_started_at_once_as_it_was_asked_for(
    tmp_path: Path, answers: bool
) -> None:
    """Also if the driver does not answer, once it has been silent for long."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o700)
    command = [sys.executable, "-m", "scripts.local.executor", "route", *_ARGUMENTS]
    with http_served(Driver) as url:
        environment = {
            **os.environ,
            "JAVA_HOME": str(tmp_path),
            "HIFI_DRIVER_URL": url if answers else f"http://{HOST}:{free_base()}",
            "HIFI_BOOTSTRAP": f"{HOST}:1",
            "HIFI_CHECKPOINTS": str(tmp_path),
            "HIFI_JARS": str(tmp_path),
        }
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=True
        )
    assert tuple(done.stdout.splitlines()) == _ARGUMENTS
