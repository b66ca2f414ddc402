"""A freshly started side as a chain to measure."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from msgspec import Struct

from scripts.experiments.harness.documents import documents
from scripts.experiments.harness.subprocesses import child_process, wait_until
from scripts.local.client.documents import documents_of, documents_open
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.supervisor import end_leftovers
from scripts.local.side import Side
from shared.runtime.errors import UsageError

_UP = "up"
_READY = "\nready "
"""The output of `hifi up` when the side is ready."""


class RunningChain(Struct, frozen=True, kw_only=True):
    """A running chain."""

    name: str
    side: Side
    roots: list[int]
    """Process ids of the roots of the chain's process trees."""

    ready_seconds: float
    """Time from its start until it was ready."""

    check: Callable[[], None]
    """Raises ChainError if one of its processes has ended."""


@contextmanager
def hifi(side: Side, destination: str, profile: SideProfile = SideProfile.ALL) -> Iterator[RunningChain]:
    """hifi's side, as `hifi up` runs it, or the programs of a profile.

    Raises:
        ChainError: if it is not ready in time.
        UsageError: if the profile has no chain.
    """
    if profile is SideProfile.BROKERS:
        raise UsageError("--parts brokers: without a chain there is nothing to measure; give all or chain")
    began = time.monotonic()
    where = ("--data", str(side.root), "--port", str(side.port), "--partitions", str(side.partitions))
    drivers = (*(("--standby",) if side.standby else ()), "--workers", str(side.workers))
    command = [sys.executable, "-m", "scripts.cli", "up", *where, "--parts", profile, *drivers]
    side.create()  # its logs are there before `up` runs
    with ExitStack() as stack:
        stack.callback(end_leftovers, side.root)  # finds processes only if `up` itself had to be killed
        up = stack.enter_context(child_process(_UP, command, side.logs, {}))
        wait_until(lambda: documents_open(side), [up])
        documents_of(side).put(documents(destination))  # before ready: the first minute counts
        wait_until(lambda: _READY in up.text(), [up])
        ready = time.monotonic() - began
        yield RunningChain(name="hifi", side=side, roots=[up.pid], ready_seconds=ready, check=up.check)
