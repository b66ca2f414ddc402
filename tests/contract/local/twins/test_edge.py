"""A real HAProxy in front of two small services: shares, draining, health, reloads."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from scripts.local.twins.place import Twins
from scripts.local.twins.programs import haproxy_command
from scripts.local.twins.runtime_api import HaproxyError
from scripts.local.twins.traffic import LocalTraffic, NotTakingError
from tests.contract.local.twins.running_edge import (
    ALL_BLUE,
    ALL_GREEN,
    ANSWER_SECONDS,
    Running,
    Service,
    is_up,
    needs_haproxy,
)
from tests.harness.waiting import eventually

pytestmark = needs_haproxy


def test_haproxy_takes_the_configuration_without_a_warning(tmp_path_factory: pytest.TempPathFactory) -> None:
    # A short folder: the paths of HAProxy's sockets may have 97 characters at most.
    twins = Twins(root=tmp_path_factory.mktemp("edge") / "a b $HOME")
    twins.create()
    LocalTraffic(twins).prepare()
    program, *_ = haproxy_command(twins.edge)
    checked = subprocess.run(
        [program, "-c", "-f", str(twins.edge.configuration)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert "warning" not in (checked.stdout + checked.stderr).lower()


def test_requests_are_shared_as_the_weights_say(running: Running) -> None:
    assert running.shares() == {"blue": 100}
    running.traffic.set_weights({"blue": 75, "green": 25})
    assert running.shares() == {"blue": 75, "green": 25}
    running.traffic.set_weights(ALL_GREEN)
    assert running.shares() == {"green": 100}
    assert running.traffic.state().former == [{"blue": 75, "green": 25}, ALL_BLUE]


def test_a_request_in_flight_is_answered_by_the_side_that_has_it_though_the_traffic_moves(
    running: Running,
) -> None:
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(running.get, "/slow")
        assert running.services["blue"].entered.wait(ANSWER_SECONDS)
        running.traffic.set_weights(ALL_GREEN)
        assert running.shares(20) == {"green": 20}
        assert _in_flight(running, "blue") == 1
        running.services["blue"].let.set()
        assert slow.result(120) == "blue"
    eventually(lambda: _in_flight(running, "blue") == 0)


def test_a_steady_load_loses_no_request_while_the_traffic_moves_to_and_fro(running: Running) -> None:
    stop = threading.Event()

    def load() -> int:
        count = 0
        while not stop.is_set():
            assert running.get() in ("blue", "green")
            count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        loads = [pool.submit(load) for _ in range(4)]
        for _ in range(5):
            running.traffic.set_weights(ALL_GREEN)
            running.traffic.set_weights({"blue": 50, "green": 50})
            running.traffic.set_weights(ALL_BLUE)
        stop.set()
        assert sum(each.result(120) for each in loads) > 0


def test_a_side_that_dies_gets_nothing_until_it_is_back(running: Running) -> None:
    running.traffic.set_weights({"blue": 50, "green": 50})
    running.services["green"].end()
    eventually(lambda: not is_up(running, "green"))
    assert running.shares(20) == {"blue": 20}
    running.services["green"] = Service("green", running.twins.side("green").collect_port)
    eventually(lambda: is_up(running, "green"))
    assert running.shares(20) == {"blue": 10, "green": 10}


def test_a_side_that_says_it_is_not_ready_is_given_no_traffic(running: Running) -> None:
    running.services["green"].healthy = False
    eventually(lambda: not is_up(running, "green"))
    with pytest.raises(NotTakingError, match="green does not answer /readyz"):
        running.traffic.set_weights(ALL_GREEN)
    assert running.traffic.state().weights == ALL_BLUE
    assert running.shares(10) == {"blue": 10}


def test_a_side_that_has_half_gets_no_more_while_it_takes_nothing(running: Running) -> None:
    """The other side would have weight 0, and HAProxy would refuse all events."""
    half = {"blue": 50, "green": 50}
    running.traffic.set_weights(half)
    running.services["green"].healthy = False
    eventually(lambda: not is_up(running, "green"))
    with pytest.raises(NotTakingError, match="green does not answer /readyz"):
        running.traffic.set_weights(ALL_GREEN)
    assert running.shares(10) == {"blue": 10}
    running.traffic.set_weights(half)
    running.traffic.set_weights(ALL_BLUE)


def test_a_reload_keeps_the_weights_and_loses_no_request_in_flight(running: Running) -> None:
    running.traffic.set_weights(ALL_GREEN)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(running.get, "/slow")
        assert running.services["green"].entered.wait(ANSWER_SECONDS)
        running.reload()
        eventually(lambda: _counted_anew(running))
        assert running.shares(20) == {"green": 20}
        running.services["green"].let.set()
        assert slow.result(120) == "green"


def _in_flight(running: Running, name: str) -> int:
    return next(each.in_flight for each in running.traffic.servers() if each.side == name)


def _counted_anew(running: Running) -> bool:
    """Whether a new HAProxy answers: its counters started at zero."""
    try:
        return all(each.requests == 0 and each.up for each in running.traffic.servers())
    except HaproxyError:
        return False
