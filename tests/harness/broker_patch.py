"""Restarts the brokers of a side one by one inside a maintenance, as a patch of their machines does."""

import sys
from collections.abc import Iterable

from scripts.local.processes.programs import BROKERS
from scripts.local.side import Side
from scripts.local.twins.broker_restart import restart_broker
from shared.contracts.scorecard import MinuteCard
from tests.harness.command_line import HifiProcess


def patch_brokers(side: Side) -> None:
    """Restart each broker once every replica is in sync again; returns after the last one."""
    hifi = HifiProcess(side.root, {})
    begun = hifi.run("maintenance", "begin", "--reason", "brokers, one by one", "--for", "30m")
    assert begun.returncode == 0, begun.stderr
    for broker in BROKERS:
        restart_broker(side, broker)
    ended = hifi.run("maintenance", "end")
    assert ended.returncode == 0, ended.stderr


def say_minutes(customer: str, cards: Iterable[MinuteCard]) -> None:
    """Write what each minute cost to the test's output."""
    for card in cards:
        sys.stdout.write(
            f"{customer} minute {card.minute}: {card.good:,} of {card.total:,} good, "
            f"p95 {card.inside.p95 or 0:,.0f} ms{', spent' if card.spent else ''}\n"
        )
