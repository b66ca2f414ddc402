"""A missing table of documents ends no release; nor does a release go on without it forever."""

from typing import Any

import pytest

from pipelines.control.observe.health import activity_watch
from pipelines.control.observe.health.activity_watch import ActivityWatch
from shared.contracts.diamond.activities import Action, Activity
from shared.dynamodb.activity_reader import Register
from shared.dynamodb.client import StoreError
from tests.harness.waiting import eventually

MINUTE_MS = 60_000
HOUR = 60


class Away:
    """A register that can be read once or never; each failed read takes a minute."""

    def __init__(self, minutes: int, *activities: Activity, ever_read: bool = True) -> None:
        self.now_ms = 0
        self._until_ms, self._activities = minutes * MINUTE_MS, activities
        self._answers = ever_read
        self.over = False

    def readable(self) -> Register:
        if self._answers:
            self._answers = False
            return Register(activities=self._activities, wishes=[], serial=1)
        self.over = self.now_ms >= self._until_ms  # once all the time before was seen
        self.now_ms = min(self.now_ms + MINUTE_MS, self._until_ms)
        raise StoreError("the table is away")


def activity(action: Action, lease_seconds: float = 15) -> Activity:
    return Activity(
        id="a",
        action=action,
        reason="2.0",
        owner="o",
        fence=1,
        since_ms=0,
        lease_seconds=lease_seconds,
    )


RELEASE = activity(Action.REPLACE_CODE)
PATCH = activity(Action.MAINTAIN, lease_seconds=30 * 60)


def watched(away: Away) -> ActivityWatch:
    """A watch that has looked until the table was away for long enough."""
    reader: Any = away
    watch = ActivityWatch(reader, lambda: away.now_ms)
    watch.start()
    try:
        eventually(lambda: away.over, 20, "the table was away for long enough", every=0.01)
    finally:
        watch.stop()
    return watch


@pytest.mark.parametrize(
    ("under_way", "minutes", "quiet"),
    [
        (RELEASE, 10, True),
        (RELEASE, HOUR, True),
        (RELEASE, HOUR + 10, False),
        (PATCH, 30, True),
        (PATCH, 40, False),
        (activity(Action.ROLLOUT_STEP), 1, False),
    ],
    ids=["release", "an hour", "for ever", "in its time", "after its time", "disturbs nothing"],
)
def test_a_window_lasts_while_its_activity_may_go_on_unseen(
    under_way: Activity, minutes: int, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity_watch, "_EVERY_SECONDS", 0.001)
    away = Away(minutes, under_way)
    watch = watched(away)
    assert any(each.from_ms <= away.now_ms < each.until_ms for each in watch.windows()) is quiet
    register = watch.register()
    assert register is not None and list(register.activities) == [under_way]


def test_nothing_is_quiet_while_the_register_was_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity_watch, "_EVERY_SECONDS", 0.001)
    away = Away(5, RELEASE, ever_read=False)
    watch = watched(away)
    assert (watch.register(), watch.windows()) == (None, ())
