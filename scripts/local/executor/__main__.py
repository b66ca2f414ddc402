"""Starts a Spark executor that is fast from its first task: `... NODE,NODE,... JAVA_ARGUMENT ...`.

A worker runs it in place of `java`. While other executors take the driver's tasks, its JVM first rehearses
the nodes' queries by itself, as a standby driver does, and only then registers: what it has compiled stays.
Where there is no other executor, customers' events wait, and it registers at once.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from subprocess import Popen, TimeoutExpired
from typing import Any, Final, NoReturn

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pydantic import Field

from scripts.local.executor.command import ExecutorCommand, executor_command
from scripts.local.executor.count import executor_count
from scripts.local.executor.others_at_work import OthersAtWork
from scripts.local.executor.turn import turn
from shared.runtime.jvm import java
from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.priority import lower_priority
from shared.runtime.settings import SparkSettings
from shared.runtime.shutdown import stop_event

_log = get_logger(__name__)
_NAME: Final = "executor"
_ANY_PORT: Final = 0
_STOP_SECONDS: Final = 8
"""Seconds between SIGTERM and SIGKILL of the JVM; the worker kills this process after 10."""

_BY_SIGNAL: Final = 128
"""A shell's status, and Java's own, of what a signal ended: the signal's number more."""


class ExecutorSettings(SparkSettings):
    """Settings of an executor's rehearsal, and where its driver is."""

    driver_url: str = Field(description="URL of the driver's health and metrics.")


def main(nodes: Sequence[str], arguments: Sequence[str]) -> int:
    """Become the executor of these arguments, or run it until it ends; returns its exit status."""
    settings = ExecutorSettings()  # type: ignore[call-arg]  # from the environment
    command = executor_command(arguments)
    others = OthersAtWork(lambda: executor_count(settings.driver_url))
    others.look_first()
    if not others.found:
        _become_cold(arguments)
    as_asked = settings.model_copy(update={"driver_memory": command.memory, "java_options": command.options})
    return _rehearse_and_serve(as_asked, nodes, command, others)


def _become_cold(arguments: Sequence[str]) -> NoReturn:
    os.execv(java(), ["java", *arguments])  # noqa: S606 - no shell


def _rehearse_and_serve(
    settings: SparkSettings, nodes: Sequence[str], command: ExecutorCommand, others: OthersAtWork
) -> int:
    configure_logging(_NAME)
    stopping, worker, hurry = stop_event(), os.getppid(), lower_priority()
    signal.signal(signal.SIGPWR, lambda *_: stopping.set())  # its worker is drained
    threading.Thread(target=others.watch, args=(stopping,), name="others", daemon=True).start()

    def is_unwanted() -> bool:
        return stopping.is_set() or os.getppid() != worker

    try:
        gateway = _rehearsed(settings, nodes, lambda: is_unwanted() or not others.found)
    except Exception:  # of Spark, or its JVM
        _log.exception("rehearsal failed: starting cold, which is better than not at all")
        gateway = None
    hurry()
    if is_unwanted():
        return 0
    if gateway is None:
        _become_cold(command.java_arguments)
    return _serve(gateway, command, stopping)


def _rehearsed(settings: SparkSettings, nodes: Sequence[str], ended: Callable[[], bool]) -> Any:
    """A gateway to a JVM that has rehearsed, or began to before it `ended`."""
    from scripts.local.processes.chain_driver import chain_rehearsal  # noqa: PLC0415  # takes a second
    from shared.spark.session import spark_session  # noqa: PLC0415

    spark = spark_session(settings, _NAME)
    gateway = spark.sparkContext._gateway
    with turn(ended) as has_come:
        if has_come:
            chain_rehearsal(nodes, settings, _ANY_PORT).run(spark, ended)
    spark.stop()
    return gateway


def _serve(gateway: Any, command: ExecutorCommand, stopping: threading.Event) -> int:
    """Let the JVM be the driver's executor, until it ends."""
    process: Popen[bytes] = gateway.proc
    signal.signal(signal.SIGPWR, lambda *_: None)  # the driver will know it: Spark drains it
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    if not stopping.is_set():
        _log.info("rehearsed: registering with the driver")
        _run_main(gateway, command)
    return _end(process)


def _run_main(gateway: Any, command: ExecutorCommand) -> None:
    for name, value in command.properties.items():
        gateway.jvm.java.lang.System.setProperty(name, value)
    words = gateway.new_array(gateway.jvm.java.lang.String, len(command.arguments))
    for number, word in enumerate(command.arguments):
        words[number] = word
    try:
        gateway.jvm.org.apache.spark.executor.CoarseGrainedExecutorBackend.main(words)
    except Py4JJavaError:
        _log.exception("executor failed: its worker starts another one")
    except (Py4JError, OSError) as error:  # its JVM has ended
        _log.info("executor ended", extra={"reason": str(error)})


def _end(process: "Popen[bytes]") -> int:
    """End the JVM, if it has not ended yet; returns its status as `java` would."""
    process.terminate()
    try:
        status = process.wait(_STOP_SECONDS)
    except TimeoutExpired:
        process.kill()
        status = process.wait()
    return status if status >= 0 else _BY_SIGNAL - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].split(","), sys.argv[2:]))
