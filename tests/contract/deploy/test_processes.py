"""Real deployers over DynamoDB Local: killed with SIGKILL, and asked by the commands of `hifi`."""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from shared.contracts.release_requests import Request
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import DEPLOYER, Release, SideState
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.release_store import ReleaseStore
from shared.runtime.clock import wall_clock
from shared.runtime.metrics import DeployMetric
from tests.harness.command_line import Done, Hifi, HifiProcess
from tests.harness.deploy_process import DeployProcess
from tests.harness.fake_world import DARK, LIGHT, OLD, Bad, badly_ended, doubled, new_world, read_world
from tests.harness.kept_lease import assert_kept
from tests.harness.waiting import eventually

NEW = "2.0"
SPEED = 60.0
SECONDS = 240


class Deployers:
    """A table, a place in a file, and deployers one after the other."""

    def __init__(self, endpoint: str, folder: Path, ending: ExitStack) -> None:
        self.endpoint, self.table, self.folder = endpoint, f"deploy-{uuid4().hex[:8]}", folder
        DocumentTable(self.table, endpoint).ensure()
        self.store = ReleaseStore(self.table, endpoint)
        self.place, self.start_s, self._ending = folder / "place.json", time.time(), ending
        self.processes: list[DeployProcess] = []

    def start(self, go: Path | None = None, patience: float = 60, watch_minutes: int = 1) -> DeployProcess:
        log = self.folder / f"{len(self.processes)}.log"
        process = DeployProcess(
            self.endpoint,
            self.table,
            self.place,
            log,
            speed=SPEED,
            start=self.start_s,
            go=go,
            patience=patience,
            watch_minutes=watch_minutes,
        )
        self.processes.append(process)
        self._ending.callback(process.kill)
        eventually(process.ready, SECONDS, "the deployer is ready")
        return process

    def ask(self, kind: Kind, version: str = "") -> Release:
        return self.store.request(Request(kind=kind, version=version, by="ann"), wall_clock)

    def until(self, reached: Callable[[Release], bool], what: str, every: float | None = None) -> Release:
        def holds() -> bool:
            found = self.store.current()
            return found is not None and reached(found)

        eventually(holds, SECONDS, what, every)
        found = self.store.current()
        assert found is not None
        return found

    def whole(self, side: str, version: str) -> None:
        """One side serves a version, the other is parked, and every event ended well."""
        world = read_world(self.place)
        other = DARK if side == LIGHT else LIGHT
        assert world.shares == {side: 100, other: 0}
        assert (world.sides[side].version, world.sides[side].parked) == (version, False)
        assert world.sides[other].parked
        assert not world.refused
        assert [each for each in badly_ended(world) if other in each] == []
        assert doubled(world) == []


@pytest.fixture
def deployers(dynamodb_local: str, tmp_path: Path) -> Iterator[Deployers]:
    with ExitStack() as ending:
        yield Deployers(dynamodb_local, tmp_path, ending)


def test_a_deployer_that_is_killed_is_followed_by_one_that_goes_on(deployers: Deployers) -> None:
    first = deployers.start(watch_minutes=10_000)  # until it is killed
    deployers.ask(Kind.DEPLOY, NEW)
    deployers.until(lambda release: release.step is Step.WATCH, "the version has traffic")
    first.kill()
    deployers.start()
    release = deployers.until(lambda release: release.ended, "the release ends")
    assert (release.step, release.term) == (Step.DONE, 2)
    deployers.whole(DARK, NEW)


def test_a_deployer_whose_call_takes_longer_than_its_lease_keeps_the_lead(
    deployers: Deployers, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    deployers.start(go, patience=SECONDS)
    deployers.ask(Kind.DEPLOY, NEW)
    deployers.until(lambda release: release.step is Step.CANARY, "the slow one sets weights")
    # Without another one, which would lead at once if a busy machine held this one up.
    assert_kept(deployers.endpoint, deployers.table, DEPLOYER)
    go.touch()
    release = deployers.until(lambda release: release.ended, "the release ends")
    assert (release.step, release.term) == (Step.DONE, 1)
    deployers.whole(DARK, NEW)


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_deployer_that_hangs_lets_go_of_the_sides_and_disturbs_no_one_if_it_goes_on(
    deployers: Deployers, tmp_path: Path, goes_on: bool
) -> None:
    go = tmp_path / "go"
    deployers.start(go, patience=1)
    deployers.ask(Kind.DEPLOY, NEW)
    deployers.until(lambda release: release.step is Step.CANARY, "it sets weights")
    deployers.start()
    deployers.until(lambda release: release.term > 1, "another takes over")
    if goes_on:
        go.touch()
    release = deployers.until(lambda release: release.ended, "the release ends")
    assert release.step is Step.DONE
    assert release.term == 2 or goes_on, "it may lead again"
    deployers.whole(DARK, NEW)


@pytest.mark.proof
@pytest.mark.parametrize(("version", "side", "serves"), [(NEW, DARK, NEW), (Bad.DROPS, LIGHT, OLD)])
def test_killed_at_every_step_a_release_ends_in_a_whole_state(
    deployers: Deployers, version: str, side: str, serves: str
) -> None:
    deployers.start()
    deployers.ask(Kind.DEPLOY, version)
    killed: set[Step] = set()
    while True:
        release = deployers.until(
            lambda each: each.ended or (each.step not in killed and bool(each.owner)), "a new step", 0.02
        )
        if release.ended:
            break
        killed.add(release.step)
        deployers.processes[-1].kill()
        deployers.start()
    assert len(killed) > 8, killed
    deployers.whole(side, serves)


def settings(deployers: Deployers) -> dict[str, str]:
    return {"HIFI_DOCUMENTS_TABLE": deployers.table, "HIFI_DOCUMENTS_ENDPOINT": deployers.endpoint}


def hifi(deployers: Deployers, *arguments: str) -> Done:
    return Hifi(None, settings(deployers)).run(*arguments)


def test_commands_deploy_a_version_follow_it_and_show_both_sides(deployers: Deployers) -> None:
    process = deployers.start()
    eventually(lambda: bool(deployers.store.sides()), SECONDS, "the deployer shows both sides")
    done = HifiProcess(None, settings(deployers)).run("deploy", NEW)
    assert done.returncode == 0, done.stderr
    assert "watch half (" in done.stderr
    assert "2.0 on green" in done.stdout
    refused = hifi(deployers, "deploy", Bad.SLOWER)
    assert refused.returncode == 1
    assert "events are late, against 0.198 % of" in refused.stderr
    assert "2.0 serves on green" in refused.stderr

    def sides() -> str:
        return hifi(deployers, "sides", "--releases", "5").stdout

    eventually(lambda: re.search(r"green +2\.0 +100 % +stable", sides()), SECONDS, "green serves alone")
    shown = hifi(deployers, "sides", "--releases", "5")
    assert re.search(r"2 +deploy slower +\S+ .+ undone", shown.stdout)
    known = json.loads(hifi(deployers, "sides", "--json").stdout)
    assert [each["side"] for each in known["sides"]] == [LIGHT, DARK]
    assert known["release"]["step"] == Step.UNDONE
    metrics = process.request("GET", "/metrics").text
    assert f"{DeployMetric.LEADER} 1.0" in metrics
    assert f'{DeployMetric.STEP}{{step="undone"}} 1.0' in metrics
    assert f"{DeployMetric.NUMBER} 2.0" in metrics


def test_a_command_for_the_traffic_alone_leaves_the_rest_to_the_deployer(deployers: Deployers) -> None:
    world = new_world()
    world.sides[LIGHT].retries = 5
    deployers.place.write_bytes(msgspec.json.encode(world))
    deployers.start()
    eventually(lambda: bool(deployers.store.sides()), SECONDS, "the deployer shows both sides")
    done = hifi(deployers, "deploy", NEW, "--traffic-only")
    assert done.returncode == 0, done.stderr
    assert "2.0 on green; drain goes on" in done.stdout
    back = hifi(deployers, "rollback", "--traffic-only")
    assert back.returncode == 0, back.stderr
    assert "1.0 serves on blue" in back.stdout
    assert read_world(deployers.place).shares == {LIGHT: 100, DARK: 0}


def test_a_command_names_the_customers_that_come_first(deployers: Deployers) -> None:
    deployers.start()
    eventually(lambda: bool(deployers.store.sides()), SECONDS, "the deployer shows both sides")
    strange = hifi(deployers, "deploy", NEW, "--canary-tenants", "acme,nobody")
    assert strange.returncode == 1
    assert "no tenant nobody has a write key" in strange.stderr
    done = hifi(deployers, "deploy", NEW, "--canary-tenants", " acme, globex,acme")
    assert done.returncode == 0, done.stderr
    assert "acme, globex on green" in done.stderr
    deployers.whole(DARK, NEW)


def test_without_a_deployer_a_command_says_so_and_asks_for_nothing(deployers: Deployers) -> None:
    done = hifi(deployers, "deploy", NEW)
    assert done.returncode == 1
    assert "no deployer runs" in done.stderr
    assert deployers.store.current() is None


def test_a_command_is_taken_by_a_deployer_that_has_shown_nothing_for_long_and_leads(
    deployers: Deployers, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    deployers.start(go, patience=SECONDS)
    deployers.ask(Kind.DEPLOY, NEW)
    deployers.until(lambda release: release.step is Step.CANARY, "the slow one sets weights")
    for name in (LIGHT, DARK):  # as if it had done so for minutes
        deployers.store.put_side(SideState(side=name, at_ms=wall_clock() - 300_000))
    done = hifi(deployers, "rollback", "--detach")
    assert done.returncode == 0, done.stderr
    go.touch()
    assert deployers.until(lambda release: release.ended, "the release ends").step is Step.UNDONE
