"""Real processes are killed under load: no acknowledged event is lost."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from scripts.local.process_marks import kill
from scripts.local.services import says_ready
from shared.kafka.admin import wait_in_sync
from shared.spark import worker_daemon
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually
from tests.integration.scene import AFTER_SECONDS, BEFORE_SECONDS, RATE, End, Scene, end_with_a_pipe, post_one

pytestmark = pytest.mark.fault

WITHOUT_MANAGEMENT_SECONDS = 20
"""Longer than a batch of each query, which reads the configuration at its start."""

LOW_RATE = 100
"""A side that has just started keeps up with this on slow cores; at 400 events/s it took ten minutes."""

LONGEST_PAUSE_MS = 10_000
"""Half of `WITHOUT_MANAGEMENT_SECONDS`: requests that need store or API would wait for all of these."""


@pytest.fixture(scope="module")
def end(live: LiveSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[End]:
    with end_with_a_pipe(live, tmp_path_factory.mktemp("faults") / "received.tsv") as found:
        yield found


@pytest.fixture
def scene(live: LiveSide, end: End, tmp_path: Path) -> Scene:
    """A healthy side, as before any fault."""
    return healthy(live, end, tmp_path, RATE)


def healthy(live: LiveSide, end: End, folder: Path, rate: int) -> Scene:
    """The side with all replicas in sync, and a load of `rate` events per second."""
    wait_in_sync(live.bootstrap)
    return Scene(live, end, folder, rate)


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
    # A micro-batch is far shorter than a second: earlier arrivals have their receipts.
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
    # One request may still be acknowledged by the second broker's last fetch, and none after it.
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


@pytest.mark.parametrize(
    ("rate", "before", "after"),
    [
        pytest.param(LOW_RATE, 2, 3, id="100"),
        pytest.param(RATE, BEFORE_SECONDS, AFTER_SECONDS, id="400", marks=pytest.mark.proof),
    ],
)
def test_nothing_is_lost_when_everything_is_killed_at_once(  # noqa: PLR0917  # a side and its load
    live: LiveSide, end: End, tmp_path: Path, rate: int, before: float, after: float
) -> None:
    scene = healthy(live, end, tmp_path, rate)
    killed = ("broker-1", "broker-2", "broker-3", "collect", "retry", "spark")
    found = scene.run(lambda: scene.live.kill(*killed), before, after)
    assert found.lost == ()


@pytest.mark.proof
def test_a_side_stopped_under_load_and_started_again_goes_on_without_loss(scene: Scene) -> None:
    def inject() -> None:
        assert scene.live.terminate() == 0
        assert not scene.live.processes(), "a process is left"
        scene.live.up()

    found = scene.run(inject)
    assert found.lost == ()
