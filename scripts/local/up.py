"""Bring a side up, step by step, and take it down again whatever happens."""

import http.client
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import psutil

from scripts.local import brokers
from scripts.local.archive import ensure_archive
from scripts.local.jars import ensure_jars
from scripts.local.lock import held
from scripts.local.programs import BROKERS, COLLECT, RETRY, SPARK, programs
from scripts.local.side import HOST, Side, busy_ports
from scripts.local.steps import Say, Steps
from scripts.local.supervisor import Supervisor, end_leftovers
from shared.contracts.topics import topic_specs
from shared.kafka.admin import admin_client, ensure_topics, wait_for_brokers

_READY_SECONDS: Final = 300
_POLL_SECONDS: Final = 0.2


class UpError(Exception):
    """A side that cannot be started; the text says why and what to do."""


@contextmanager
def brokers_up(side: Side, steps: Steps) -> Iterator[Supervisor]:
    """The supervised brokers with all topics; leaving the context ends every process of the side.

    Raises:
        UpError, BrokerError, JarsError, SupervisorError, AdminError, RunningError: with the mend.
    """
    _check_folder(side)
    with held(side.root):
        if end_leftovers(side.root):
            steps.say("ended processes that an earlier `hifi up` had left behind")
        _check_ports(side)
        supervisor = Supervisor(side)
        try:
            _start_brokers(side, supervisor, steps)
            yield supervisor
        finally:
            _ignore_stop_signals(steps)
            with steps.step("stopping: collect, retry, Spark, brokers"):
                supervisor.shut_down()


def start_services(side: Side, supervisor: Supervisor, steps: Steps) -> None:
    """Start Spark, retry and collect and return when all say they are ready.

    Raises:
        UpError: if one is not in time.
    """
    for program in (SPARK, RETRY, COLLECT):  # the slowest first: the others start beside it
        supervisor.start_program(program)
    with steps.step("starting collect") as say:
        _wait(COLLECT, lambda: says_ready(side.collect_port), side, supervisor, say)
    with steps.step("starting retry") as say:
        _wait(RETRY, lambda: says_ready(side.retry_port), side, supervisor, say)
    with steps.step("starting Spark") as say:
        _wait(SPARK, lambda: spark_ready(side, supervisor), side, supervisor, say)


def wait_until_stopped(supervisor: Supervisor) -> None:
    """Return never; KeyboardInterrupt is the good end.

    Raises:
        UpError: if the supervisor ended.
    """
    while supervisor.alive:
        time.sleep(_POLL_SECONDS)
    raise UpError(
        "the supervisor ended unexpectedly, and with it the side: `hifi up` goes on where it stopped"
    )


def stop_signals_interrupt() -> None:
    """SIGTERM and a closed terminal are like Ctrl-C: KeyboardInterrupt."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def says_ready(port: int) -> bool:
    """Whether /readyz of the service on a port answers 200."""
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def spark_ready(side: Side, supervisor: Supervisor) -> bool:
    """Whether the driver that runs now, not a former one, said that its queries process data."""
    try:
        said = side.spark_ready.read_text().strip()
    except FileNotFoundError:
        return False
    return said == str(supervisor.pid(SPARK))


def _start_brokers(side: Side, supervisor: Supervisor, steps: Steps) -> None:
    with steps.step("preparing jars and brokers") as say:
        jars = ensure_jars(say)
        ensure_archive(jars.broker, say)
        shutil.rmtree(side.temporary, ignore_errors=True)  # what a killed process left
        side.create()
        side.spark_ready.unlink(missing_ok=True)
        brokers.prepare(side, jars.broker)
    with steps.step("starting three brokers"):
        supervisor.start(programs(side, jars))
        for program in BROKERS:
            supervisor.start_program(program)
        wait_for_brokers(side.bootstrap)
        _check_cluster(side)
    with steps.step("creating topics, waiting for all replicas"):
        ensure_topics(side.bootstrap, topic_specs(side.partitions))


def _check_cluster(side: Side) -> None:
    """Of two sides started on the same ports at once, one must not take the other's brokers for its own."""
    found = admin_client(side.bootstrap).list_topics(timeout=10).cluster_id
    if found != brokers.cluster_id(side):
        raise UpError(f"brokers of another side answer at {side.bootstrap}: choose another --port")


def _check_folder(side: Side) -> None:
    try:
        side.run.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UpError(f"{side.root} cannot be used as data folder: {error.strerror}") from error
    if not brokers.formatted(side) and any(side.checkpoints.glob("*")):
        raise UpError(
            f"{side.root} has Spark's checkpoints but not the brokers they belong to: "
            f"remove {side.root} to begin anew"
        )


def _check_ports(side: Side) -> None:
    busy = busy_ports(side.ports)
    if busy:
        named = ", ".join(f"{port}{_owner(port)}" for port in busy)
        raise UpError(
            f"ports in use: {named}; choose another base, for example `hifi up --port {side.port + 1000}`"
        )


def _owner(port: int) -> str:
    try:
        found = [c.pid for c in psutil.net_connections("tcp") if c.laddr and c.laddr.port == port and c.pid]
        return f" ({psutil.Process(found[0]).name()}, pid {found[0]})" if found else ""
    except psutil.Error:
        return ""


def _wait(program: str, ready: Callable[[], bool], side: Side, supervisor: Supervisor, say: Say) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not ready():
        state = supervisor.states()[program]
        say(f"starting {program}: {state.lower()}")
        if time.monotonic() > deadline:
            log = side.logs / f"{program}.log"
            raise UpError(f"{program} is not ready after {_READY_SECONDS} s ({state.lower()}): see {log}")
        time.sleep(_POLL_SECONDS)


def _ignore_stop_signals(steps: Steps) -> None:
    def already(_number: int, _frame: FrameType | None) -> None:
        steps.say("already stopping; what was acknowledged is being written")

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, already)
