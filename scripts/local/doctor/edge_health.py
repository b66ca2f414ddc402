"""Checks of `hifi doctor` on the edge before two running sides."""

from collections.abc import Iterator, Sequence

from scripts.local.doctor.checks import Check
from scripts.local.processes.supervisor import StoppingError, Supervisor, SupervisorError
from scripts.local.twins.place import Twins
from scripts.local.twins.runtime_api import HaproxyError, Server
from scripts.local.twins.traffic import LocalTraffic


def edge_health(twins: Twins) -> Iterator[Check]:
    """Check the edge's programs, and each side that has traffic."""
    try:
        states = Supervisor(twins.edge).states()
    except StoppingError:
        wait = f"wait, then hifi up --twins --data {twins.root}"
        yield Check(name="edge", found="is being stopped", fix=wait)
        return
    except SupervisorError as error:
        yield Check(name="edge", found=str(error), fix=f"hifi down --data {twins.root}; hifi up --twins")
        return
    for name, state in states.items():
        if state == "STOPPED":
            continue  # with brokers alone there is no deployer
        fix = None if state == "RUNNING" else f"tail {twins.edge.logs / name}.log"
        yield Check(name=f"edge {name}", found=state.lower(), fix=fix)
    try:
        yield from traffic_checks(LocalTraffic(twins).servers())
    except HaproxyError as error:
        yield Check(name="edge traffic", found=str(error), fix=f"tail {twins.edge.logs}/haproxy.log")


def traffic_checks(servers: Sequence[Server]) -> Iterator[Check]:
    """Check that each side with a share of the traffic passes its health checks."""
    for each in servers:
        hurt = each.weight and not each.up
        yield Check(
            name=f"edge {each.side}",
            found=f"{each.weight} % of the traffic, {each.status.lower()}",
            fix="`hifi switch` moves the traffic to the other side" if hurt else None,
        )
