"""An alarm about slow minutes is judged by the minutes of its own window only."""

from typing import Any

import pytest

from pipelines.control.observe.api.queries import Queries
from pipelines.control.observe.health.snapshot import Snapshot
from pipelines.control.observe.scorecards.day_state import DayState
from shared.contracts.alarms import Alarm, AlarmKind, Audience
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import MinuteCard

NOW = 29_700_000
HELD_UP = MinuteCard(
    tenant="acme", minute=NOW - 5, settled=True, total=100, held_up=100, waiting=100, spent=True
)
"""Spent because the customer's destination is down."""

HOUR = 60


class OpenAlarm:
    """Alarms with one open: a burn of this window."""

    def __init__(self, subject: str) -> None:
        self._subject = subject

    def listed(self, tenant: str, is_open: bool | None = None) -> list[Alarm]:
        return [
            Alarm(
                id="1",
                kind=AlarmKind.BURN,
                audience=Audience.OPERATOR,
                tenant="acme",
                subject=self._subject,
                text="slow minutes",
                opened_ms=NOW * MINUTE_MS,
                updated_ms=NOW * MINUTE_MS,
            )
        ]


def stable(subject: str, slow_minutes_ago: int, since: int = 0) -> bool:
    """Whether a side is stable, with a destination that is down now and one slow minute of its own."""
    slow = MinuteCard(
        tenant="acme", minute=NOW - slow_minutes_ago, settled=True, total=100, good=10, spent=True
    )
    days, none = DayState(), None
    days.take([slow, HELD_UP])
    found = Snapshot(at_ms=NOW * MINUTE_MS, cards=days.cards, tenants=("acme",), read_to_ms=NOW * MINUTE_MS)
    alarms: Any = OpenAlarm(subject)
    away: Any = none
    asked = Queries(lambda: found, away, alarms, away, lambda: NOW * MINUTE_MS, register=away, timeline=away)
    return asked.stability(since).stable


@pytest.mark.parametrize("subject", ["fast", "slow"])
def test_a_minute_long_before_the_alarm_is_not_held_against_the_side(subject: str) -> None:
    assert stable(subject, 25 * HOUR)
    assert stable(subject, 25 * HOUR, since=NOW - 26 * HOUR)


@pytest.mark.parametrize(
    ("subject", "minutes_ago", "expected"),
    [
        ("fast", 59, False),
        ("fast", 74, False),
        ("fast", 76, True),
        ("slow", 76, False),
        ("slow", 374, False),
        ("slow", 376, True),
        ("of another version", 374, False),
        ("of another version", 376, True),
    ],
)
def test_the_window_of_the_alarm_and_what_is_not_settled_yet_count(
    subject: str, minutes_ago: int, expected: bool
) -> None:
    assert stable(subject, minutes_ago) == expected


def test_what_a_side_did_with_other_code_still_does_not_count() -> None:
    assert not stable("fast", 30, since=NOW - 40)
    assert stable("fast", 30, since=NOW - 20)
