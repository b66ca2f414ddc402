"""Starts two sides and the edge before them, and stops them whatever happens."""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from scripts.local.jars import ensure_store
from scripts.local.lock import held
from scripts.local.processes.profile import SideProfile
from scripts.local.processes.programs import PROVISION, STORE
from scripts.local.processes.session_priority import lower_session
from scripts.local.processes.stopping import shut_down
from scripts.local.processes.supervisor import Supervisor, SupervisorError
from scripts.local.progress import Progress
from scripts.local.services import open_chain, warm_open_side
from scripts.local.side import Side
from scripts.local.twins.leftovers import end_all_leftovers
from scripts.local.twins.place import Twins, are_twins, check_folder
from scripts.local.twins.programs import DEPLOY, HAPROXY, edge_programs
from scripts.local.twins.traffic import LocalTraffic
from scripts.local.twins.versions import named
from scripts.local.twins.warm_mark import mark_warm
from scripts.local.up import UpError, brokers_up, check_ports
from scripts.local.warmup.warmup import WarmUpLimits
from shared.contracts.document_items import DOCUMENTS_TABLE
from shared.contracts.sides import DeployerStatus, deployer_status
from shared.dynamodb.release_store import ReleaseStore
from shared.runtime.clock import wall_clock

EDGE: Final = "edge"
_DEPLOYER_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.2


@contextmanager
def twins_up(twins: Twins, progress: Progress, warm_up_seconds: float) -> Iterator[Mapping[str, Supervisor]]:
    """Run the edge and the brokers of both sides; leaving the block ends every process of all three.

    Yields:
        The supervisor of each side, by its name, and that of the edge.

    Raises:
        OperatorError: if they cannot be started.
    """
    check_folder(twins)
    with held(twins.root), ExitStack() as stack:
        _check_all_ports(twins, progress)  # before they are those of the next start, too
        twins.create()
        edge = stack.enter_context(_edge_up(twins, progress, warm_up_seconds))
        sides = {
            side.name: stack.enter_context(brokers_up(side, progress, twins.profile))
            for side in (named(each) for each in twins.sides)
        }
        try:
            yield {**sides, EDGE: edge}
        finally:
            with suppress(SupervisorError):
                edge.stop_program(DEPLOY)  # or it would start what is being stopped


def start_twins(
    twins: Twins,
    supervisors: Mapping[str, Supervisor],
    progress: Progress,
    warm_up_seconds: float,
) -> bool:
    """Start the code of each side that has traffic, be it of a pinned customer; another one stays parked.

    Returns:
        Whether all of it is ready. A warm-up or a meter that fails is said, and the side serves on.

    Raises:
        UpError: if another program takes too long.
    """
    ready = True
    opened, limits = LocalTraffic(twins).state().open_sides, WarmUpLimits(seconds=warm_up_seconds)
    for side in twins.sides:
        if side.name in opened:
            ready &= _start_side(side, supervisors[side.name], twins.profile, progress, limits)
        elif twins.profile is not SideProfile.BROKERS:
            lower_session(supervisors[side.name].leader())
            supervisors[side.name].start_program(PROVISION)
    if twins.profile is not SideProfile.BROKERS:
        supervisors[EDGE].start_program(DEPLOY)
        with progress.step("starting the deployer"):
            _wait_for_deployer(twins)
    return ready


def _start_side(
    side: Side, supervisor: Supervisor, profile: SideProfile, progress: Progress, limits: WarmUpLimits
) -> bool:
    """Start a side like one by itself.

    If it does not get warm it is not marked so: a release that starts it without traffic warms it up.
    """
    if profile is SideProfile.BROKERS:
        return True
    open_chain(side, supervisor, profile, progress)
    if not warm_open_side(side, supervisor, profile, progress, limits):
        return False
    mark_warm(side, supervisor)
    return True


def _wait_for_deployer(twins: Twins) -> None:
    """Return once the deployer has looked at the sides: before that it takes no release."""
    store = ReleaseStore(DOCUMENTS_TABLE, twins.edge.store_url)
    deadline = time.monotonic() + _DEPLOYER_SECONDS
    while deployer_status(store.sides(), wall_clock()) is not DeployerStatus.RUNS:
        if time.monotonic() > deadline:
            log = twins.edge.logs / f"{DEPLOY}.log"
            raise UpError(f"the deployer does not show the sides after {_DEPLOYER_SECONDS:.0f} s: see {log}")
        time.sleep(_POLL_SECONDS)


def described_twins(root: Path, port: int | None, partitions: int | None, profile: SideProfile) -> Twins:
    """The twins in `root` as last described, with the options given; the number of partitions never falls."""
    before = Twins.load(root) if are_twins(root) else Twins(root=root)
    most = max(before.partitions, partitions or 1) if are_twins(root) else partitions or before.partitions
    return replace(before, port=port or before.port, partitions=most, profile=profile)


def _check_all_ports(twins: Twins, progress: Progress) -> None:
    """End what an earlier start left behind, and refuse ports that others have."""
    if end_all_leftovers(twins.root):
        progress.say("ended processes that an earlier `hifi up` left behind")
    for ports in (twins.edge.ports, *(side.ports for side in twins.sides)):
        check_ports(ports)


@contextmanager
def _edge_up(twins: Twins, progress: Progress, warm_up_seconds: float) -> Iterator[Supervisor]:
    edge, supervisor = twins.edge, Supervisor(twins.edge)
    shutil.rmtree(edge.temporary, ignore_errors=True)
    edge.create()
    LocalTraffic(twins).prepare()
    try:
        with progress.step("starting the edge: HAProxy, the store of both sides") as say:
            supervisor.start(edge_programs(twins, ensure_store(say), warm_up_seconds))
            for program in (STORE, HAPROXY):
                supervisor.start_program(program)
        yield supervisor
    finally:
        shut_down(supervisor, progress, "stopping the edge")
