"""Brokers are restarted one by one, as for a patch: the dark side's, and those of the side that serves."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from scripts.local.processes.programs import BROKERS
from scripts.local.side import Side
from scripts.local.twins.broker_restart import restart_broker
from scripts.local.twins.traffic import LocalTraffic
from shared.contracts.scorecard import MinuteCard
from tests.harness.command_line import Hifi
from tests.harness.live_twins import LiveTwins
from tests.twins.customer import Customer

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1_800)]

RATE: Final = 100


def test_a_patch_of_the_dark_sides_brokers_costs_the_customer_no_minute(
    live: LiveTwins, tmp_path: Path
) -> None:
    cards = _patched(live, _sides(live)[0], Customer(live, "dark-patch", tmp_path, RATE))
    assert [card.minute for card in cards if card.spent] == []


def test_a_patch_of_the_brokers_that_serve_loses_nothing(live: LiveTwins, tmp_path: Path) -> None:
    """What it costs is in the test's output."""
    cards = _patched(live, _sides(live)[1], Customer(live, "light-patch", tmp_path, RATE))
    assert sum(card.lost for card in cards) == 0


def _sides(live: LiveTwins) -> tuple[Side, Side]:
    """The dark side, and the light one."""
    weights = LocalTraffic(live.twins).state().weights
    dark, light = sorted(live.twins.sides, key=lambda side: weights[side.name])
    return dark, light


def _patched(live: LiveTwins, side: Side, customer: Customer) -> Sequence[MinuteCard]:
    """The customer's settled minutes around a restart of each broker of a side, which are said."""
    hifi = Hifi(side.root, {})
    with customer.busy():
        begun = hifi.run("maintenance", "begin", "--reason", "brokers, one by one", "--for", "30m")
        assert begun.returncode == 0, begun.stderr
        for broker in BROKERS:
            restart_broker(side, broker)
        ended = hifi.run("maintenance", "end")
        assert ended.returncode == 0, ended.stderr
        customer.steady()
    assert customer.check().lost == ()
    cards = customer.settled_cards()
    for card in cards:
        sys.stdout.write(
            f"{customer.name} minute {card.minute}: {card.good:,} of {card.total:,} good, "
            f"p95 {card.inside.p95} ms{', spent' if card.spent else ''}\n"
        )
    return cards
