"""Starts the programs beside a side's brokers, and waits until each is ready."""

import http.client
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from rich.markup import escape

from scripts.local.addresses import HOST
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.programs import (
    API,
    CANARY,
    COLLECT,
    CONSOLE,
    DOCUMENTS,
    METER,
    OBSERVE,
    PROVISION,
    RETRY,
    SERVICES,
    STORE,
    TRACE,
    traced,
)
from scripts.local.processes.spark_programs import EXECUTORS, MASTER, SPARK, STANDBY, WORKERS
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress, Say
from scripts.local.side import Side
from scripts.local.up import UpError, of_twins
from scripts.local.warmup.warmup import WARM_P95_MS, WarmUpLimits, warm_up
from shared.contracts.canary_pause import PAUSE_PATH
from shared.runtime.errors import OperatorError

READY_SECONDS: Final = 600
_POLL_SECONDS: Final = 0.2
_ANSWER_SECONDS: Final = 2

_NOT_WARM: Final = (
    "the warm-up failed: {error}. The side serves on: it takes events, but delivers them late, or not before "
    "the cause is gone; `hifi doctor` shows what does not work"
)
_NO_METER: Final = (
    "the meter did not start: {error}. The side serves on: it delivers events, which are counted once the "
    "meter runs; it is started again and again, `hifi doctor` shows what does not work"
)


def early(side: Side, profile: SideProfile) -> tuple[str, ...]:
    """Programs of a side by itself that start with its brokers, as they do not need them at once."""
    if profile is SideProfile.BROKERS:
        return ()
    if side.workers:
        return (STORE, MASTER)  # a driver that does not find the master tries again after 20 s
    # A driver that shares the checkpoints with another does not wait for topics.
    return (STORE,) if side.standby else (STORE, SPARK)


def start_profile(
    side: Side,
    supervisor: Supervisor,
    profile: SideProfile,
    progress: Progress,
    limits: WarmUpLimits,
) -> None:
    """Start the programs of a profile beside the brokers, warm the chain up, and return when all are ready.

    Raises:
        OperatorError: if a program or the warm-up takes too long.
    """
    if profile is SideProfile.BROKERS:
        return
    open_chain(side, supervisor, profile, progress)
    _begin_meter(supervisor, profile)
    _warm_up(side, progress, limits)
    _end_meter(side, supervisor, profile, progress, READY_SECONDS)


def open_chain(side: Side, supervisor: Supervisor, profile: SideProfile, progress: Progress) -> None:
    """Start the chain and the management API; return when customers can use both.

    The canary of a profile with one receives what an earlier one has sent, and sends nothing yet.
    Events are delivered from then on, at first more slowly than is promised.

    Raises:
        UpError: if a program takes too long.
    """
    if profile is SideProfile.ALL:
        supervisor.start_program(CANARY)
    _start_services(side, supervisor, progress)
    with progress.step("starting the management API") as say:
        _wait(API, lambda: says_ready(side.api_port), side, supervisor, say)


def warm_open_side(  # noqa: PLR0913, PLR0917  # a side's parts, and the two limits
    side: Side,
    supervisor: Supervisor,
    profile: SideProfile,
    progress: Progress,
    limits: WarmUpLimits,
    meter_seconds: float = READY_SECONDS,
) -> bool:
    """Warm up a side that is open, and start the meter if the profile has it.

    Customers use the side already, so that a failure of either is said, and does not end it.

    Args:
        side: one that is open.
        supervisor: of its programs.
        profile: which of them run.
        progress: gets the steps, and a line for what failed.
        limits: of the warm-up.
        meter_seconds: that each program of the meter may take.

    Returns:
        Whether it is ready: both succeeded.
    """
    begun = _tried(_NO_METER, progress, lambda: _begin_meter(supervisor, profile))
    warmed = _tried(_NOT_WARM, progress, lambda: _warm_up(side, progress, limits))
    metered = _tried(
        _NO_METER, progress, lambda: _end_meter(side, supervisor, profile, progress, meter_seconds)
    )
    return begun and warmed and metered


def _tried(failure: str, progress: Progress, do: Callable[[], None]) -> bool:
    """Whether something succeeded; if not, what failed is said in one line."""
    try:
        do()
    except OperatorError as error:
        said = failure.format(error=" ".join(str(error).split()))
        progress.say(f"[yellow]not ready[/]   {escape(said)}")
        return False
    return True


def _start_services(side: Side, supervisor: Supervisor, progress: Progress) -> None:
    own = supervisor.states()
    cluster = (MASTER, EXECUTORS, *WORKERS[: side.workers]) if side.workers else ()
    for program in (*cluster, *(each for each in DOCUMENTS if each in own), *SERVICES):
        supervisor.start_program(program)
    with progress.step("starting the provisioner") as say:
        _wait(PROVISION, lambda: says_ready(side.provision_port), side, supervisor, say)
    supervisor.start_program(API)  # now that the documents of an older side are in the table
    with progress.step("starting collect") as say:
        _wait(COLLECT, lambda: says_ready(side.collect_port), side, supervisor, say)
    with progress.step("starting retry") as say:
        _wait(RETRY, lambda: says_ready(side.retry_port), side, supervisor, say)
    with progress.step("starting Spark") as say:
        _wait(SPARK, lambda: spark_ready(side, supervisor), side, supervisor, say)


def _warm_up(side: Side, progress: Progress, limits: WarmUpLimits) -> None:
    began = time.monotonic()
    with progress.step(f"warming up{of_twins(side)}: a synthetic load through the whole chain") as say:
        p95 = warm_up(side, say, limits)
    figures = f"p95 of the last 5 s was {p95} ms after {time.monotonic() - began:.0f} s of warm-up"
    if p95 < WARM_P95_MS:
        progress.say(f"[green]warm[/]   {figures}")
    else:
        progress.say(
            f"[yellow]slow[/]   {figures}; it falls with load, unless other programs keep the machine busy"
        )


def _begin_meter(supervisor: Supervisor, profile: SideProfile) -> None:
    """Start the meter beside the warm-up, which takes longer."""
    if profile is SideProfile.ALL:
        for program in (*METER, *((TRACE,) if traced() else ())):
            supervisor.start_program(program)


def _end_meter(
    side: Side, supervisor: Supervisor, profile: SideProfile, progress: Progress, seconds: float
) -> None:
    """Let the canary send, now that it does not report the lags of a cold chain, and wait for the meter."""
    if profile is not SideProfile.ALL:
        return
    services = (
        (CANARY, lambda: _pause_ended(side)),
        (OBSERVE, partial(says_ready, side.observe_port)),
        (CONSOLE, partial(says_ready, side.console_port)),
    )
    with progress.step("starting the meter: canary, observe, console") as say:
        for program, ready in services:
            _wait(program, ready, side, supervisor, say, seconds)


def _pause_ended(side: Side) -> bool:
    try:
        pause_canary(side, 0)
    except OSError:
        return False
    return True


def pause_canary(side: Side, seconds: int) -> None:
    """Let the canary of a side send nothing for so many seconds; 0 ends a pause.

    Raises:
        OSError: if it does not answer.
    """
    request = urllib.request.Request(  # noqa: S310 - our own
        side.canary_url + PAUSE_PATH, data=str(seconds).encode(), method="PUT"
    )
    with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS):  # noqa: S310 - our own
        return


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
    """Whether a driver that runs now, not an earlier one, reported that its queries process data."""
    return driver_at_work(side, supervisor) is not None


def driver_at_work(side: Side, supervisor: Supervisor) -> str | None:
    """The program that reported, in the process that runs now, that its queries process data."""
    ready = {SPARK: side.spark_ready, **({STANDBY: side.standby_ready} if side.standby else {})}
    return next((name for name, file in ready.items() if _said(file) == str(supervisor.pid(name))), None)


def waiting_driver(side: Side, supervisor: Supervisor) -> int | None:
    """The process of the driver that reported that it is warm and waits to take over."""
    said = _said(side.spark_warm)
    return next((pid for pid in map(supervisor.pid, (SPARK, STANDBY)) if said == str(pid)), None)


def _said(file: Path) -> str:
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        return ""


def start_standby(side: Side, supervisor: Supervisor, progress: Progress) -> None:
    """Start the second Spark driver of a side that is ready, and wait until it is warm.

    The side works without it, so that a standby that takes too long is only reported.
    """
    supervisor.start_program(STANDBY)
    try:
        with progress.step("starting the standby: a second Spark driver, warmed on topics of its own") as say:
            _wait(STANDBY, lambda: waiting_driver(side, supervisor) is not None, side, supervisor, say)
    except UpError as error:
        progress.say(f"[yellow]without a standby[/]   {escape(str(error))}")


def _wait(  # noqa: PLR0913, PLR0917  # what is waited for, and where it is
    program: str,
    ready: Callable[[], bool],
    side: Side,
    supervisor: Supervisor,
    say: Say,
    seconds: float = READY_SECONDS,
) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        state = supervisor.states()[program]
        say(f"starting {program}: {state.lower()}")
        if time.monotonic() > deadline:
            log = side.logs / f"{program}.log"
            raise UpError(f"{program} is not ready after {seconds:.0f} s ({state.lower()}): see {log}")
        time.sleep(_POLL_SECONDS)
