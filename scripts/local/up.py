"""Starts a side step by step, and stops it whatever happens."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import psutil

from scripts.local.class_archives import missing_archives
from scripts.local.cluster import configure
from scripts.local.data_folder import check_side_folder
from scripts.local.jars import ensure_jars
from scripts.local.kafka import brokers
from scripts.local.lock import held
from scripts.local.ports import busy_ports
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.programs import BROKERS, programs, queries_of
from scripts.local.processes.stopping import shut_down
from scripts.local.processes.supervisor import Supervisor, end_leftovers
from scripts.local.progress import Progress
from scripts.local.side import Side
from shared.contracts.topics import rehearsal_specs, topic_specs
from shared.kafka.admin import admin_client, ensure_topics, wait_for_brokers
from shared.kafka.errors import kafka_errors_explained
from shared.runtime.errors import OperatorError

_POLL_SECONDS: Final = 0.2


class UpError(OperatorError):
    """The side cannot be started; the text says why and what to do."""


@contextmanager
def brokers_up(
    side: Side, progress: Progress, profile: SideProfile = SideProfile.ALL, early: Sequence[str] = ()
) -> Iterator[Supervisor]:
    """Run the supervised brokers with all topics; leaving the block ends every process of the side.

    `profile` says which programs may be started beside them, `early` which of those start with them.

    Raises:
        OperatorError: if they cannot be started.
    """
    check_side_folder(side)
    with held(side.root):
        if end_leftovers(side.root):
            progress.say("ended processes that an earlier `hifi up` left behind")
        check_ports(side.ports)
        supervisor = Supervisor(side)
        try:
            _start_brokers(side, supervisor, progress, profile, early)
            yield supervisor
        finally:
            name = f" {side.name}" if side.shared else ""
            beside = "collect, retry, Spark, brokers, and what runs beside them"
            shut_down(supervisor, progress, f"stopping{name}: {beside}")


def of_twins(side: Side) -> str:
    """The side's name, where there are two: ` of blue`."""
    return f" of {side.name}" if side.shared else ""


def wait_until_stopped(*supervisors: Supervisor) -> None:
    """Wait for KeyboardInterrupt, which is the normal end; never returns.

    Raises:
        UpError: if a supervisor ends.
    """
    while all(each.alive for each in supervisors):
        time.sleep(_POLL_SECONDS)
    raise UpError(
        "the supervisor ended unexpectedly, and the side with it; `hifi up` starts it again without loss"
    )


def _start_brokers(
    side: Side, supervisor: Supervisor, progress: Progress, profile: SideProfile, early: Sequence[str]
) -> None:
    with progress.step("preparing jars and brokers") as say:
        jars = ensure_jars(say)
        shutil.rmtree(side.temporary, ignore_errors=True)  # files of a killed process
        side.create()
        for file in (side.spark_ready, side.standby_ready, side.spark_warm):
            file.unlink(missing_ok=True)
        brokers.prepare(side, jars.broker)
        if side.workers:
            configure(side, jars.spark, queries_of(profile))
    if missing := missing_archives(jars):
        progress.say(
            f"[dim]slower   no archive of classes of {', '.join(missing)}: `make setup` records it[/]"
        )
    with progress.step(f"starting three brokers{of_twins(side)}"):
        supervisor.start(programs(side, jars, profile))
        for program in (*BROKERS, *early):
            supervisor.start_program(program)
        wait_for_brokers(side.bootstrap)
        _check_cluster(side)
    with progress.step("creating topics, waiting for all replicas"):
        ensure_topics(side.bootstrap, topic_specs(side.partitions))
        if side.standby or side.workers:
            ensure_topics(side.bootstrap, rehearsal_specs())


def _check_cluster(side: Side) -> None:
    """Refuse the brokers of another side that was started on the same ports at the same time."""
    with kafka_errors_explained(side.bootstrap):
        found = admin_client(side.bootstrap).list_topics(timeout=10).cluster_id
    if found != brokers.cluster_id(side):
        raise UpError(f"brokers of another side answer at {side.bootstrap}: choose another --port")


def check_ports(ports: range) -> None:
    """Refuse ports on which something listens.

    Raises:
        UpError: if there are any; it names who listens.
    """
    busy = busy_ports(ports)
    if busy:
        named = ", ".join(f"{port}{_owner(port)}" for port in busy)
        raise UpError(
            f"ports in use: {named}; choose another base, for example `hifi up --port {ports.start + 1000}`"
        )


def _owner(port: int) -> str:
    try:
        found = [c.pid for c in psutil.net_connections("tcp") if c.laddr and c.laddr.port == port and c.pid]
        return f" ({psutil.Process(found[0]).name()}, pid {found[0]})" if found else ""
    except psutil.Error:
        return ""
