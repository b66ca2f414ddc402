"""Real deployers over DynamoDB Local: killed with SIGKILL, held up, and controlled by `hifi` commands."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from scripts.deployer import watch
from shared.contracts.release_steps import Kind, Step
from shared.contracts.releases import DEPLOYER, SideState
from shared.runtime.clock import wall_clock
from shared.runtime.metrics import DeployMetric
from tests.contract.deploy.deployers import SECONDS, Deployers
from tests.harness.fake_world import DARK, LIGHT, NEW, Bad, new_world, read_world
from tests.harness.kept_lease import assert_kept
from tests.harness.waiting import eventually


@pytest.fixture(autouse=True)
def quick_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands poll the release that they follow five times a second."""
    monkeypatch.setattr(watch, "_SECONDS", 0.2)


def test_a_deployer_that_is_killed_is_followed_by_one_that_goes_on(deployers: Deployers) -> None:
    first = deployers.start(watch_minutes=10_000)  # until it is killed
    deployers.ask(Kind.DEPLOY, NEW)
    deployers.until(lambda release: release.step is Step.WATCH, "the version has traffic")
    first.kill()
    deployers.start()
    release = deployers.until(lambda release: release.ended, "the release ends")
    assert (release.step, release.term) == (Step.DONE, 2)
    deployers.whole(NEW, DARK)


def test_a_deployer_whose_call_takes_longer_than_its_lease_keeps_the_lead(
    deployers: Deployers, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    deployers.start(go, patience=SECONDS, lease=0.4)
    deployers.ask(Kind.DEPLOY, NEW)
    deployers.until(lambda release: release.step is Step.CANARY, "the slow one sets weights")
    # Without a second one, which would take the lead whenever a busy machine held this one up.
    assert_kept(deployers.endpoint, deployers.table, DEPLOYER)
    go.touch()
    release = deployers.until(lambda release: release.ended, "the release ends")
    assert (release.step, release.term) == (Step.DONE, 1)
    deployers.whole(NEW, DARK)


@pytest.mark.parametrize("goes_on", [True, pytest.param(False, marks=pytest.mark.proof)])
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
    deployers.whole(NEW, DARK)


def test_commands_deploy_a_version_follow_it_and_show_both_sides(deployers: Deployers) -> None:
    process = deployers.start()
    eventually(lambda: bool(deployers.store.sides()), SECONDS, "the deployer shows both sides")
    done = deployers.hifi("deploy", NEW)
    assert done.returncode == 0, done.stderr
    assert "watch half (" in done.stderr
    assert "2.0 on green" in done.stdout
    refused = deployers.hifi("deploy", Bad.SLOWER)
    assert refused.returncode == 1
    assert "events are late, against 0.198 % of" in refused.stderr
    assert "2.0 serves on green" in refused.stderr

    def sides() -> str:
        return deployers.hifi("sides", "--releases", "5").stdout

    eventually(lambda: re.search(r"green +2\.0 +100 % +stable", sides()), SECONDS, "green serves alone")
    shown = deployers.hifi("sides", "--releases", "5")
    assert re.search(r"2 +deploy slower +\S+ .+ undone", shown.stdout)
    known = json.loads(deployers.hifi("sides", "--json").stdout)
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
    done = deployers.hifi("deploy", NEW, "--traffic-only")
    assert done.returncode == 0, done.stderr
    assert "2.0 on green; drain goes on" in done.stdout
    back = deployers.hifi("rollback", "--traffic-only")
    assert back.returncode == 0, back.stderr
    assert "1.0 serves on blue" in back.stdout
    assert read_world(deployers.place).shares == {LIGHT: 100, DARK: 0}


def test_a_command_names_the_customers_that_come_first(deployers: Deployers) -> None:
    deployers.start()
    eventually(lambda: bool(deployers.store.sides()), SECONDS, "the deployer shows both sides")
    strange = deployers.hifi("deploy", NEW, "--canary-tenants", "acme,nobody")
    assert strange.returncode == 1
    assert "no tenant nobody has a write key" in strange.stderr
    done = deployers.hifi("deploy", NEW, "--canary-tenants", " acme, globex,acme")
    assert done.returncode == 0, done.stderr
    assert "acme, globex on green" in done.stderr
    deployers.whole(NEW, DARK)


def test_without_a_deployer_a_command_says_so_and_asks_for_nothing(deployers: Deployers) -> None:
    done = deployers.hifi("deploy", NEW)
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
    for name in (LIGHT, DARK):  # as if it had lasted for minutes
        deployers.store.put_side(SideState(side=name, at_ms=wall_clock() - 300_000))
    done = deployers.hifi("rollback", "--detach")
    assert done.returncode == 0, done.stderr
    go.touch()
    assert deployers.until(lambda release: release.ended, "the release ends").step is Step.UNDONE
