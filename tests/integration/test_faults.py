"""Real processes are killed under load: no acknowledged event is lost."""

import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from scripts.load.receiver import PathCounts, Receiver, running
from scripts.load.records import Received, read_acked, read_received
from scripts.load.verify import DeliveryCheck, check_delivery, visible_ids, visible_in
from scripts.local.process_marks import kill
from scripts.local.services import says_ready
from shared.kafka.admin import wait_in_sync
from shared.spark import worker_daemon
from tests.harness.live_side import LiveSide, sending
from tests.harness.waiting import eventually

pytestmark = pytest.mark.fault

KEY = "integration-faults"
RATE = 400
BATCH = 10
BEFORE_SECONDS = 4
AFTER_SECONDS = 6
WITHOUT_MANAGEMENT_SECONDS = 20
"""Longer than a batch of each query, which reads the configuration at its start."""

LONGEST_PAUSE_MS = 10_000
"""Half of that: who needs the store or the API waits for all of it. A busy machine needs seconds."""

RECOVER_SECONDS = 300
"""Time limit for a side to start again after all its processes were killed."""


class End:
    """The destination of all scenarios: its file and its counts."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.receiver = Receiver(out=file)

    @property
    def tally(self) -> PathCounts:
        return self.receiver.counts("/faults")


class Scene:
    """A load from collect to one destination, recorded at both ends."""

    def __init__(self, live: LiveSide, end: End, folder: Path) -> None:
        self.live = live
        self.acked_file = folder / "acked.tsv"
        self._end = end
        self._began_ms = time.time_ns() // 1_000_000

    def acked(self) -> set[str]:
        return {row.event_id for row in read_acked(self.acked_file)} if self.acked_file.exists() else set()

    def received(self) -> list[Received]:
        """Ids that arrived since the scenario started; the receiver's file lags a little."""
        return [row for row in read_received(self._end.file) if row.received_ms >= self._began_ms]

    def run(self, inject: Callable[[], None]) -> DeliveryCheck:
        """Send a load, cause the fault, send more, until every acknowledged event arrived or is visible."""
        with sending(self.live.url, key=KEY, rate=RATE, batch=BATCH, acked=self.acked_file):
            self.flows(BEFORE_SECONDS)
            inject()
            self.flows(AFTER_SECONDS)
        seen = self._end.tally.seen
        try:
            eventually(
                lambda: self.acked() <= seen, RECOVER_SECONDS, "all acknowledged events arrive", every=0.5
            )
        except AssertionError:
            missing = self.acked() - seen
            assert not missing - self.visible(), f"lost {len(missing)} of {len(self.acked())}"
        time.sleep(1)  # the receiver writes its file twice a second
        return check_delivery(self.acked(), [row.event_id for row in self.received()], self.visible())

    def visible(self) -> set[str]:
        """Ids that wait in the retry and dead-letter topics."""
        return visible_in("faults", visible_ids(self.live.bootstrap))

    def flows(self, seconds: float) -> None:
        """Wait until as many further events arrived as are sent in `seconds`."""
        goal = self._end.tally.distinct + seconds * RATE
        eventually(lambda: self._end.tally.distinct >= goal, RECOVER_SECONDS, "events flow", every=0.1)


@pytest.fixture(scope="module")
def end(live: LiveSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[End]:
    """A destination with a pipe in force."""
    found = End(tmp_path_factory.mktemp("faults") / "received.tsv")
    with running(found.receiver) as receiver:
        live.apply(
            {"kind": "source", "name": "faults", "tenant": "faults", "write_keys": [KEY]},
            {
                "kind": "destination",
                "name": "faults",
                "tenant": "faults",
                "options": {"url": f"{receiver.url}/faults"},
            },
            {
                "kind": "pipe",
                "name": "faults",
                "tenant": "faults",
                "source": "faults",
                "destination": "faults",
            },
        )
        # Until route has the pipe, its events match nothing: send some until one arrives.
        eventually(
            lambda: post_one(live.url) == 202 and found.tally.arrivals, 60, "the pipe is live", every=0.5
        )
        yield found


@pytest.fixture
def scene(live: LiveSide, end: End, tmp_path: Path) -> Scene:
    """A healthy side, as before any fault."""
    wait_in_sync(live.bootstrap)
    return Scene(live, end, tmp_path)


@pytest.mark.proof
def test_nothing_is_lost_when_collect_is_killed_in_the_middle_of_requests(scene: Scene) -> None:
    found = scene.run(lambda: scene.live.kill("collect"))
    assert found.lost == ()


@pytest.mark.proof
def test_a_killed_spark_driver_loses_nothing_and_repeats_at_most_one_transmit_batch(scene: Scene) -> None:
    killed_ms: list[int] = []

    def inject() -> None:
        scene.live.kill_leader("spark")
        killed_ms.append(time.time_ns() // 1_000_000)

    found = scene.run(inject)
    assert found.lost == ()
    rows = scene.received()
    repeated = {name for name, count in Counter(row.event_id for row in rows).items() if count > 1}
    firsts = [row.received_ms for row in rows if row.event_id in repeated and row.received_ms <= killed_ms[0]]
    # A micro-batch is far shorter than a second: receipts of earlier arrivals have been written.
    assert all(killed_ms[0] - first < 1_000 for first in firsts), sorted(firsts)
    assert found.duplicated <= RATE


@pytest.mark.proof
def test_killed_python_workers_cost_a_task_and_not_the_driver(scene: Scene) -> None:
    live, seconds = scene.live, 0.0
    driver = live.supervisor.pid("spark")

    def inject() -> None:
        nonlocal seconds
        workers = [each for each in live.processes("spark") if worker_daemon.__name__ in each.cmdline()]
        assert len(workers) > 4, "daemons and workers of transmit, route and audit"
        kill(workers)
        began = time.monotonic()
        scene.flows(1)
        seconds = time.monotonic() - began

    found = scene.run(inject)
    sys.stdout.write(
        f"a second's events had arrived {seconds:.1f} s after the kill, {found.duplicated} twice\n"
    )
    assert found.lost == ()
    assert live.supervisor.pid("spark") == driver
    assert seconds < 45
    assert found.duplicated <= RATE


@pytest.mark.proof
def test_nothing_is_lost_when_a_broker_is_killed_and_comes_back(scene: Scene) -> None:
    found = scene.run(lambda: scene.live.kill("broker-2"))
    assert found.lost == ()


@pytest.mark.proof
def test_with_one_broker_of_three_requests_get_503_and_all_resumes_by_itself(scene: Scene) -> None:
    live = scene.live
    bystanders = {program: live.supervisor.pid(program) for program in ("collect", "spark", "broker-1")}
    statuses: list[int] = []

    def inject() -> None:
        live.hold_down("broker-2", "broker-3")
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            statuses.append(post_one(live.url))
        live.let_up("broker-2", "broker-3")

    found = scene.run(inject)
    assert found.lost == ()
    assert statuses, "requests were answered"
    # One request may still be acknowledged by the second broker's last fetch; none after that.
    assert set(statuses) == {503}
    assert {program: live.supervisor.pid(program) for program in bystanders} == bystanders


@pytest.mark.proof
def test_deliveries_go_on_while_store_api_and_provisioner_are_down(scene: Scene) -> None:
    live, management = scene.live, ("store", "api", "provision")
    down_ms: list[int] = []

    def inject() -> None:
        live.hold_down(*management)
        down_ms.append(time.time_ns() // 1_000_000)
        try:
            scene.flows(WITHOUT_MANAGEMENT_SECONDS)
            down_ms.append(time.time_ns() // 1_000_000)
        finally:
            live.let_up(*management)
            eventually(lambda: says_ready(live.side.provision_port), 120, "the provisioner is back")
            eventually(lambda: says_ready(live.side.api_port), 120, "the API is back")

    found = scene.run(inject)
    assert found.lost == ()
    assert found.duplicated == 0
    times = sorted(row.received_ms for row in scene.received() if down_ms[0] <= row.received_ms <= down_ms[1])
    longest = max(later - earlier for earlier, later in pairwise([down_ms[0], *times, down_ms[1]]))
    assert longest < LONGEST_PAUSE_MS, f"nothing arrived for {longest} ms"


def test_nothing_is_lost_when_everything_is_killed_at_once(scene: Scene) -> None:
    found = scene.run(
        lambda: scene.live.kill("broker-1", "broker-2", "broker-3", "collect", "retry", "spark")
    )
    assert found.lost == ()


@pytest.mark.proof
def test_a_side_stopped_under_load_and_started_again_goes_on_without_loss(scene: Scene) -> None:
    def inject() -> None:
        assert scene.live.terminate() == 0
        assert not scene.live.processes(), "a process is left"
        scene.live.up()

    found = scene.run(inject)
    assert found.lost == ()


def post_one(url: str) -> int:
    """The status of a request with one event."""
    request = urllib.request.Request(
        f"{url}/v1/events",
        data=b'{"while": "brokers are gone"}',
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=90) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code
