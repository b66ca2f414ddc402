"""`hifi switch`, `deploy`, `rollback`, `burst` and `sides` on two real sides, under load."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from pipelines.control.deploy.judging.traffic_minutes import first_warm_minute
from scripts.local.twins.versions import commit_of
from scripts.scorecard.both_sides import spent_together
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.release_steps import Step
from shared.contracts.releases import Release
from tests.harness.edge_traffic import EdgeTraffic
from tests.harness.live_twins import LiveTwins
from tests.harness.waiting import eventually
from tests.twins.customer import BATCH, RATE, Customer
from tests.twins.releases import REPLAYED, Releases

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_600)]

MOST_DEPLOY_SECONDS: Final = 360
MOST_ROLLBACK_SECONDS: Final = 10
"""Seconds from before `hifi rollback` until the edge gives the former side, which has half, all traffic."""

FIRST_RATE: Final = 30
"""Rate of the customer that is a version's first traffic: equal to the tenth of all that others try."""

_SHOWN_SECONDS: Final = 60


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
        rolled_back, seconds = EdgeTraffic(live.twins).seconds_until_all(
            deployed["former"], lambda: releases.run("rollback")
        )
        sys.stdout.write(f"all traffic on the former side, which was parked, after {seconds:.0f} s\n")
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
    assert spent_together(cards) == []
    cold = _cold_minutes(deployed)
    assert [card.minute for card in cards if card.spent and card.minute not in cold] == []


def test_a_release_that_is_taken_back_gives_its_traffic_back_at_once(live: LiveTwins, tmp_path: Path) -> None:
    """Its first traffic is one customer's, and that customer's events are processed again."""
    releases, edge = Releases(live), EdgeTraffic(live.twins)
    first = Customer(live, "goes-first", tmp_path, FIRST_RATE, BATCH)
    others = Customer(live, "taken-back", tmp_path, RATE - FIRST_RATE, BATCH)
    with first.busy(), others.busy():
        before = edge.requests()
        releases.begin("deploy", commit_of("HEAD"), "--canary-tenants", first.name)
        watched = releases.at(Step.WATCH)
        _takes_alone(live, watched["target"], first, others)
        releases.at(Step.WATCH_HALF)
        first.steady()
        undone, seconds = edge.seconds_until_all(watched["former"], lambda: releases.undo("--replay"))
        sys.stdout.write(f"weights back {seconds:.1f} s after the command\n")
        went = BATCH * (edge.requests()[undone["target"]] - before[undone["target"]])
        assert releases.serving()[undone["former"]] == (undone["former_version"], 100, False)
        assert releases.serving()[undone["target"]][1:] == (0, True)
        others.steady()
    checks = [customer.check() for customer in (first, others)]
    assert [check.lost for check in checks] == [(), ()]
    again = sum(check.duplicated for check in checks)
    sys.stdout.write(f"{went:,} events went through {undone['target']}, {again:,} arrived again\n")
    assert 0 < again <= went, "doubled beyond the replay"
    assert _said(undone, Step.CANARY) == f"{first.name} on {undone['target']}"
    assert _said(undone, Step.REWIND) == REPLAYED
    assert seconds <= MOST_ROLLBACK_SECONDS
    assert _spent(first, others) == []


def test_the_traffic_changes_sides_opens_both_and_goes_back(live: LiveTwins, tmp_path: Path) -> None:
    """A side that opens delivers its first events late: no minute counts as spent on both sides' cards."""
    releases = Releases(live)
    customer = Customer(live, "switches", tmp_path, RATE, BATCH)
    with customer.busy():
        switched = releases.run("switch")
        version = switched["version"]
        assert releases.serving()[switched["target"]] == (version, 100, False)
        assert releases.serving()[switched["former"]] == (version, 0, True)
        opened = _end(releases.run("burst", "on"), Step.BOTH) // MINUTE_MS
        assert {share for _, share, _ in releases.serving().values()} == {50}
        customer.steady()
        of_both = customer.settled_until(opened)  # a parked side answers nothing
        releases.run("burst", "off")
        assert releases.serving()[switched["target"]] == (version, 100, False)
        assert releases.serving()[switched["former"]] == (version, 0, True)
        customer.steady()
    check = customer.check()
    assert (check.lost, check.duplicated) == ((), 0)
    since = [card for card in customer.settled_cards() if card.minute > opened]
    assert spent_together([*of_both, *since]) == []


def _cold_minutes(release: dict[str, Any]) -> range:
    """Minutes in which a tenth of the events may be late: a part of one, and whole ones on a cold version."""
    warm = first_warm_minute(msgspec.convert(release, Release))
    return range(_began(release, Step.CANARY) // MINUTE_MS, warm)


def _takes_alone(live: LiveTwins, side: str, first: Customer, others: Customer) -> None:
    """A side's own meter counts events of the first customer, and none of the others."""

    def collected(customer: Customer) -> int:
        return sum(card.collected for card in live.minutes(side, customer.name))

    eventually(lambda: collected(first), _SHOWN_SECONDS, f"{side} has events of {first.name}", every=1)
    assert collected(others) == 0


def _spent(*customers: Customer) -> Sequence[tuple[str, int]]:
    """Customer and epoch minute of the spent minutes of running sides."""
    return [
        (customer.name, card.minute)
        for customer in customers
        for card in customer.settled_cards()
        if card.spent
    ]


def _said(release: dict[str, Any], step: Step) -> str:
    return str(next(each["said"] for each in release["log"] if each["step"] == step))


def _began(release: dict[str, Any], step: Step) -> int:
    return int(next(each["since_ms"] for each in release["log"] if each["step"] == step))


def _end(release: dict[str, Any], step: Step) -> int:
    return int(next(each["until_ms"] for each in release["log"] if each["step"] == step))


def _seconds(release: dict[str, Any], first: Step, last: Step) -> float:
    return (_end(release, last) - _began(release, first)) / 1_000
