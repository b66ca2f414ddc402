"""Brokers are restarted one by one, as for a patch: the dark side's, and the serving side's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from scripts.local.side import Side
from scripts.local.twins.traffic import LocalTraffic
from shared.contracts.scorecard import MinuteCard
from tests.harness.broker_patch import patch_brokers, say_minutes
from tests.harness.live_twins import LiveTwins
from tests.twins.customer import Customer

pytestmark = [pytest.mark.proof, pytest.mark.timeout(1_800)]

RATE: Final = 100


def test_a_patch_of_the_dark_sides_brokers_costs_the_customer_no_minute(
    live: LiveTwins, tmp_path: Path
) -> None:
    cards = _patched(_sides(live)[0], Customer(live, "dark-patch", tmp_path, RATE))
    assert [card.minute for card in cards if card.spent] == []


def test_a_patch_of_the_brokers_that_serve_loses_nothing(live: LiveTwins, tmp_path: Path) -> None:
    """The test's output shows the cost of the patch."""
    cards = _patched(_sides(live)[1], Customer(live, "light-patch", tmp_path, RATE))
    assert sum(card.lost for card in cards) == 0


def _sides(live: LiveTwins) -> tuple[Side, Side]:
    """The dark side and the light one."""
    weights = LocalTraffic(live.twins).state().weights
    dark, light = sorted(live.twins.sides, key=lambda side: weights[side.name])
    return dark, light


def _patched(side: Side, customer: Customer) -> Sequence[MinuteCard]:
    """The customer's settled minutes around a restart of each of a side's brokers; they are printed."""
    with customer.busy():
        patch_brokers(side)
        customer.steady()
    assert customer.check().lost == ()
    cards = customer.settled_cards()
    say_minutes(customer.name, cards)
    return cards
