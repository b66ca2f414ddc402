"""Edge weights are in force and stored, whoever sets them or dies meanwhile; bad ones are refused."""

import time
from pathlib import Path

import pytest

from scripts.local.side import LIGHT
from scripts.local.twins.runtime_api import HaproxyError, RuntimeApi
from shared.contracts.side_weights import WrongWeightsError
from tests.contract.local.twins.running_edge import ALL_BLUE, ALL_GREEN, Running, needs_haproxy
from tests.harness.edge_traffic import EdgeTraffic

pytestmark = needs_haproxy


def test_how_soon_a_side_has_all_traffic_is_said_by_haproxy_and_not_by_what_is_written_down(
    running: Running,
) -> None:
    watched, haproxy = EdgeTraffic(running.twins), RuntimeApi(running.twins.edge.socket)
    running.traffic.set_weights(ALL_GREEN)
    haproxy.set_weight("events", "blue", 1)

    def command() -> str:
        time.sleep(0.5)
        haproxy.set_weight("events", "blue", 0)
        time.sleep(1)
        return "over"

    began = time.monotonic()
    done, seconds = watched.seconds_until_all("green", command)
    assert done == "over"
    assert 0.5 <= seconds < time.monotonic() - began - 0.2, "before the command was over"
    running.shares(20)
    assert watched.requests() == {"blue": 0, "green": 20}
    with pytest.raises(AssertionError, match="green has all traffic before"):
        watched.seconds_until_all("green", command)
    with pytest.raises(AssertionError, match="blue has not all traffic after"):
        watched.seconds_until_all("blue", lambda: None)


def test_weights_that_are_written_down_and_not_in_force_are_put_in_force(running: Running) -> None:
    running.traffic.set_weights(ALL_GREEN)
    haproxy = RuntimeApi(running.twins.edge.socket)  # as if the writer had died before HAProxy knew
    haproxy.set_weight("events", "blue", 100)
    haproxy.set_weight("events", "green", 0)
    assert running.shares(20) == {"blue": 20}
    running.traffic.set_weights(ALL_GREEN)
    assert running.shares(20) == {"green": 20}
    assert running.traffic.state().former == [ALL_BLUE], "nothing new is written"


def test_a_configuration_with_weights_that_do_not_hold_is_written_anew(running: Running) -> None:
    """If the writer is killed between configuration and state, the next one takes the configuration back."""
    state = running.twins.edge.state
    before = state.read_bytes()
    running.traffic.set_weights(ALL_GREEN)
    state.write_bytes(before)
    running.traffic.set_weights(ALL_BLUE)
    running.restart()
    assert running.shares(20) == {"blue": 20}


def test_the_link_to_the_side_that_leads_is_right_once_the_weights_are_set_again(running: Running) -> None:
    light = running.twins.root / LIGHT
    running.traffic.set_weights(ALL_GREEN)
    light.unlink()
    light.symlink_to("blue")
    running.traffic.set_weights(ALL_GREEN)
    assert light.readlink() == Path("green")


def test_the_weights_outlive_haproxy(running: Running) -> None:
    running.traffic.set_weights({"blue": 20, "green": 80})
    running.restart()
    assert running.shares() == {"blue": 20, "green": 80}


def test_weights_decided_on_others_than_those_that_hold_are_refused(running: Running) -> None:
    running.traffic.set_weights({"blue": 90, "green": 10}, now=ALL_BLUE)
    with pytest.raises(WrongWeightsError, match="decide again"):
        running.traffic.set_weights(ALL_GREEN, now=ALL_BLUE)
    with pytest.raises(WrongWeightsError, match="sum up to 100"):
        running.traffic.set_weights({"blue": 90, "green": 90})


def test_weights_that_haproxy_does_not_take_are_not_kept(running: Running) -> None:
    running.process.terminate()
    running.process.wait(60)
    with pytest.raises(HaproxyError, match="does not answer"):
        running.traffic.set_weights(ALL_GREEN)
    assert running.traffic.state().weights == ALL_BLUE
    assert "server blue" in running.twins.edge.configuration.read_text()


def test_a_server_that_haproxy_does_not_know_is_named(running: Running) -> None:
    with pytest.raises(HaproxyError, match="red"):
        RuntimeApi(running.twins.edge.socket).set_weight("events", "red", 1)
