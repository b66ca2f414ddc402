"""`hifi switch`, `deploy`, `rollback`, `burst` and `sides` on two real sides, under load."""

import sys
from pathlib import Path
from typing import Any, Final

import pytest

from scripts.local.twins.versions import commit_of
from shared.contracts.release_steps import Step
from tests.harness.live_twins import LiveTwins
from tests.twins.customer import BATCH, RATE, Customer
from tests.twins.releases import Releases

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_600)]

MOST_DEPLOY_SECONDS: Final = 360
MOST_ROLLBACK_SECONDS: Final = 10


def test_a_version_takes_all_traffic_and_the_former_one_takes_it_back(
    live: LiveTwins, tmp_path: Path
) -> None:
    releases, commit = Releases(live), commit_of("HEAD")
    customer = Customer(live, "releases", tmp_path, RATE, BATCH)
    with customer.busy():
        deployed = releases.run("deploy", commit)
        took = _seconds(deployed, Step.PROVE, Step.ALL)
        sys.stdout.write(f"ready to all traffic {took:.0f} s\n")
        assert releases.serving()[deployed["target"]] == (commit, 100, False)
        assert releases.serving()[deployed["former"]][1:] == (0, True)
        customer.steady()
        rolled_back = releases.run("rollback")
        assert rolled_back["target"] == deployed["former"]
        assert releases.serving()[rolled_back["target"]] == (deployed["former_version"], 100, False)
        assert releases.serving()[deployed["target"]][1:] == (0, True)
        customer.steady()
    check = customer.check()
    assert (check.lost, check.duplicated) == ((), 0)
    assert took <= MOST_DEPLOY_SECONDS
    releases.run("burst", "on")  # a parked side answers nothing
    cards = customer.settled_cards()
    releases.run("burst", "off")
    totals = {name: sum(getattr(card, name) for card in cards) for name in ("collected", "delivered", "lost")}
    assert totals == {"collected": check.acked, "delivered": check.acked, "lost": 0}
    assert [card.minute for card in cards if card.spent] == []


def test_a_release_that_is_taken_back_gives_its_traffic_back_at_once(live: LiveTwins, tmp_path: Path) -> None:
    releases = Releases(live)
    customer = Customer(live, "taken-back", tmp_path, RATE, BATCH)
    with customer.busy():
        releases.begin("deploy", commit_of("HEAD"))
        releases.at(Step.WATCH_HALF)
        customer.steady()
        undone = releases.undo()
        assert releases.serving()[undone["former"]] == (undone["former_version"], 100, False)
        assert releases.serving()[undone["target"]][1:] == (0, True)
        customer.steady()
    assert customer.check().lost == ()
    back = _seconds(undone, Step.GIVE_BACK, Step.GIVE_BACK)
    sys.stdout.write(f"weights back {back:.1f} s\n")
    assert back <= MOST_ROLLBACK_SECONDS


def test_the_traffic_changes_sides_opens_both_and_goes_back(live: LiveTwins, tmp_path: Path) -> None:
    releases = Releases(live)
    customer = Customer(live, "switches", tmp_path, RATE, BATCH)
    with customer.busy():
        switched = releases.run("switch")
        version = switched["version"]
        assert releases.serving()[switched["target"]] == (version, 100, False)
        assert releases.serving()[switched["former"]] == (version, 0, True)
        releases.run("burst", "on")
        assert {share for _, share, _ in releases.serving().values()} == {50}
        customer.steady()
        releases.run("burst", "off")
        assert releases.serving()[switched["target"]] == (version, 100, False)
        assert releases.serving()[switched["former"]] == (version, 0, True)
        customer.steady()
    assert customer.check().lost == ()


def _began(release: dict[str, Any], step: Step) -> int:
    return int(next(each["since_ms"] for each in release["log"] if each["step"] == step))


def _end(release: dict[str, Any], step: Step) -> int:
    return int(next(each["until_ms"] for each in release["log"] if each["step"] == step))


def _seconds(release: dict[str, Any], first: Step, last: Step) -> float:
    return (_end(release, last) - _began(release, first)) / 1_000
