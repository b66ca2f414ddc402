"""A real HAProxy in front of two small services: shares, draining, health, restarts."""

import signal
import subprocess
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from scripts.local.addresses import HOST
from scripts.local.ports import free_base
from scripts.local.side import LIGHT
from scripts.local.twins.place import Twins
from scripts.local.twins.programs import haproxy, haproxy_command
from scripts.local.twins.runtime_api import HaproxyError, RuntimeApi
from scripts.local.twins.traffic import LocalTraffic, NotTakingError, PinnedTenant
from shared.contracts.documents import SEALED_PREFIX, key_digest
from shared.contracts.side_weights import WrongWeightsError
from tests.harness.edge_traffic import EdgeTraffic
from tests.harness.http_server import STOP_SECONDS
from tests.harness.twins_ports import TWINS_PORTS
from tests.harness.waiting import eventually

pytestmark = pytest.mark.skipif(haproxy() is None, reason="haproxy is not installed: scripts/setup.sh edge")

ALL_BLUE = {"blue": 100, "green": 0}
ALL_GREEN = {"blue": 0, "green": 100}
ANSWER_SECONDS = 50
"""HAProxy itself waits a minute for an answer."""


class Service:
    """Answers with its side's name, at `/slow` when it is let."""

    def __init__(self, name: str, port: int) -> None:
        self.healthy = True
        self.let, self.entered = threading.Event(), threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status = 200 if service.healthy or self.path != "/readyz" else 503
                if self.path == "/slow":
                    service.entered.set()
                    service.let.wait(ANSWER_SECONDS)
                self.send_response(status)
                self.send_header("Content-Length", str(len(name)))
                self.end_headers()
                self.wfile.write(name.encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((HOST, port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(STOP_SECONDS,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Refuse connections from now on."""
        self._server.shutdown()
        self._server.server_close()


class Running:
    """HAProxy before two services."""

    def __init__(self, twins: Twins) -> None:
        self.twins, self.traffic = twins, LocalTraffic(twins)
        self.services = {side.name: Service(side.name, side.collect_port) for side in twins.sides}
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        with (self.twins.edge.logs / "haproxy.log").open("ab") as log:
            process = subprocess.Popen(haproxy_command(self.twins.edge), stdout=log, stderr=log)
        eventually(lambda: process.poll() is not None or self._answers())
        assert process.poll() is None, (self.twins.edge.logs / "haproxy.log").read_text()
        return process

    def restart(self) -> None:
        """Kill HAProxy and start it again, as the supervisor does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process = self._start()

    def reload(self) -> None:
        """Let HAProxy read its configuration again. One that has just started may miss the signal."""
        master, until = psutil.Process(self.process.pid), time.monotonic() + 60
        before = {each.pid for each in master.children()}
        while time.monotonic() < until:
            master.send_signal(signal.SIGUSR2)
            for _ in range(50):
                if {each.pid for each in master.children()} - before:
                    return
                time.sleep(0.1)
        raise AssertionError("no new worker")

    def _answers(self) -> bool:
        try:
            return all(each.up for each in self.traffic.servers())
        except HaproxyError:
            return False

    def get(self, path: str = "/", *, key: str = "") -> str:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        asked = urllib.request.Request(f"{self.twins.edge.events_url}{path}", headers=headers)
        with urllib.request.urlopen(asked, timeout=120) as reply:
            return str(reply.read().decode())

    def shares(self, requests: int = 100) -> Counter[str]:
        return Counter(self.get() for _ in range(requests))

    def end(self) -> None:
        for service in self.services.values():
            service.let.set()
            service.end()
        self.process.terminate()
        self.process.wait(60)


@contextmanager
def edge(folder: Path) -> Iterator[Running]:
    twins = Twins(root=folder, port=free_base(count=TWINS_PORTS))
    twins.create()
    LocalTraffic(twins).prepare()
    running = Running(twins)
    try:
        yield running
    finally:
        running.end()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with edge(tmp_path) as found:
        yield found


def test_haproxy_takes_the_configuration_without_a_warning(tmp_path_factory: pytest.TempPathFactory) -> None:
    # A short folder: HAProxy's sockets have paths of at most 97 characters.
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
    haproxy = RuntimeApi(running.twins.edge.socket)  # as if who wrote them had died before HAProxy knew
    haproxy.set_weight("events", "blue", 100)
    haproxy.set_weight("events", "green", 0)
    assert running.shares(20) == {"blue": 20}
    running.traffic.set_weights(ALL_GREEN)
    assert running.shares(20) == {"green": 20}
    assert running.traffic.state().former == [ALL_BLUE], "nothing new is written"


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
    eventually(lambda: not _side(running, "green"))
    assert running.shares(20) == {"blue": 20}
    running.services["green"] = Service("green", running.twins.side("green").collect_port)
    eventually(lambda: _side(running, "green"))
    assert running.shares(20) == {"blue": 10, "green": 10}


def test_a_side_that_says_it_is_not_ready_is_given_no_traffic(running: Running) -> None:
    running.services["green"].healthy = False
    eventually(lambda: not _side(running, "green"))
    with pytest.raises(NotTakingError, match="green does not answer /readyz"):
        running.traffic.set_weights(ALL_GREEN)
    assert running.traffic.state().weights == ALL_BLUE
    assert running.shares(10) == {"blue": 10}


def test_a_side_that_has_half_gets_no_more_while_it_takes_nothing(running: Running) -> None:
    """The other one would be without weight, and HAProxy would refuse all events."""
    half = {"blue": 50, "green": 50}
    running.traffic.set_weights(half)
    running.services["green"].healthy = False
    eventually(lambda: not _side(running, "green"))
    with pytest.raises(NotTakingError, match="green does not answer /readyz"):
        running.traffic.set_weights(ALL_GREEN)
    assert running.shares(10) == {"blue": 10}
    running.traffic.set_weights(half)
    running.traffic.set_weights(ALL_BLUE)


def test_a_configuration_with_weights_that_do_not_hold_is_written_anew(running: Running) -> None:
    """Who sets weights may be killed between the configuration and the state, and the next one goes back."""
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


ACME, GLOBEX = "acme-write-key", "globex-write-key"


def pinned(side: str, *keys: str) -> PinnedTenant:
    return PinnedTenant(side=side, keys=[key_digest(key).removeprefix(SEALED_PREFIX) for key in keys])


def by_key(running: Running) -> dict[str, set[str]]:
    return {key: {running.get(key=key) for _ in range(5)} for key in (ACME, GLOBEX, "")}


def test_a_customer_goes_to_a_side_without_weight_by_the_digest_of_its_key_and_no_other_does(
    running: Running,
) -> None:
    running.traffic.set_weights(ALL_BLUE, pinned={"acme": pinned("green", ACME, "an-older-key")})
    assert by_key(running) == {ACME: {"green"}, GLOBEX: {"blue"}, "": {"blue"}}
    assert running.get(key="an-older-key") == "green"
    running.traffic.set_weights(ALL_BLUE, pinned={"globex": pinned("green", GLOBEX)})
    assert by_key(running) == {ACME: {"blue"}, GLOBEX: {"green"}, "": {"blue"}}
    running.traffic.set_weights({"blue": 50, "green": 50})
    assert running.shares(20) == {"blue": 10, "green": 10}
    assert running.traffic.state().pinned == {}
    running.traffic.set_weights(ALL_BLUE)
    assert by_key(running) == {ACME: {"blue"}, GLOBEX: {"blue"}, "": {"blue"}}


def test_pinned_customers_outlive_haproxy_and_go_elsewhere_when_their_side_is_down(running: Running) -> None:
    running.traffic.set_weights(ALL_BLUE, pinned={"acme": pinned("green", ACME)})
    running.restart()
    assert by_key(running)[ACME] == {"green"}
    running.services["green"].end()
    eventually(lambda: not _side(running, "green"))
    assert by_key(running)[ACME] == {"blue"}


def test_no_customer_is_pinned_to_a_side_that_is_not_ready(running: Running) -> None:
    running.services["green"].healthy = False
    eventually(lambda: not _side(running, "green"))
    with pytest.raises(NotTakingError, match="green does not answer /readyz"):
        running.traffic.set_weights(ALL_BLUE, pinned={"acme": pinned("green", ACME)})
    assert running.traffic.state().pinned == {}


def test_an_edge_keeps_no_key_that_could_be_used(running: Running) -> None:
    running.traffic.set_weights(ALL_BLUE, pinned={"acme": pinned("green", ACME)})
    for file in running.twins.edge.root.rglob("*"):
        if file.is_file():
            assert ACME.encode() not in file.read_bytes(), file


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


def _side(running: Running, name: str) -> bool:
    return next(each.up for each in running.traffic.servers() if each.side == name)


def _in_flight(running: Running, name: str) -> int:
    return next(each.in_flight for each in running.traffic.servers() if each.side == name)


def _counted_anew(running: Running) -> bool:
    """Whether a new HAProxy answers: its counts began at zero."""
    try:
        return all(each.requests == 0 and each.up for each in running.traffic.servers())
    except HaproxyError:
        return False
