"""Retries that keep failing show at their destination, although the events' old minute has them."""

from typing import Final

import numpy as np
import pytest

from pipelines.control.observe.alarms.rules import failures
from pipelines.control.observe.scorecards.destinations import destination_health
from pipelines.control.observe.scorecards.late_failures import LastDeliveries
from pipelines.control.observe.scorecards.minute_cards import JudgedMinute
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.verdicts.verdicts import ReadProgress
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.ledger import Range, Stage, Tally, with_ids
from shared.contracts.topics import Topic
from tests.unit.pipelines.control.observe.alarm_inputs import destination, inputs, settings
from tests.unit.pipelines.control.observe.world import MINUTE, MINUTE_START, SETTLE

EVENTS: Final = 7
FIRST_MS: Final = MINUTE_START + 5_000
WINDOW_MINUTES: Final = 10
EXPIRED: Final = "- certificate_expired"
MINUTE_MS: Final = 60_000


class Outage:
    """The source `web` falls silent after its first events; the test writes the outcome of their retries."""

    def __init__(self) -> None:
        self._tracker, self._deliveries = MinuteTracker(SETTLE), LastDeliveries()
        self._offset = 0
        self._ends: dict[Topic, int] = {}

    def send(self, minute: int = MINUTE) -> None:
        """Send events of a minute that fail in their first attempt."""
        now_ms = FIRST_MS + (minute - MINUTE) * MINUTE_MS
        self._write(Topic.COLLECTED, Stage.COLLECTED, now_ms, minute, name="web")
        self._write(Topic.EVENTS, Stage.EVENTS, now_ms, minute, name="")
        self._write(Topic.OUTBOUND, Stage.FIRST, now_ms, minute)
        self._fail(now_ms, minute)

    def retry(self, now_ms: int, minute: int = MINUTE) -> None:
        """Write another attempt that fails."""
        self._write(Topic.RETRY_OUT, Stage.RETRIED, now_ms, minute)
        self._fail(now_ms, minute)

    def deliver(self, now_ms: int, minute: int = MINUTE) -> None:
        """Write another attempt that succeeds."""
        self._write(Topic.RETRY_OUT, Stage.RETRIED, now_ms, minute)
        self._write(Topic.RECEIPTS, Stage.DELIVERED, now_ms, minute, destination="hook")

    def _fail(self, now_ms: int, minute: int) -> None:
        reasons = {EXPIRED: EVENTS}
        self._write(Topic.RECEIPTS, Stage.RETRYING, now_ms, minute, destination="hook", reasons=reasons)
        self._write(Topic.RETRY_IN_1H, Stage.WAITING, now_ms, minute, destination="hook")

    def _write(
        self,
        topic: Topic,
        stage: Stage,
        now_ms: int,
        minute: int,
        *,
        name: str = "orders",
        destination: str = "",
        reasons: dict[str, int] | None = None,
    ) -> None:
        start = self._ends.get(topic, 0)
        self._ends[topic] = end = start + EVENTS
        bare = Tally(
            stage=stage,
            tenant="shop",
            minute=minute,
            name=name,
            destination=destination,
            count=EVENTS,
            first=start,
            last=end - 1,
            last_ms=now_ms,
            due_ms=now_ms + 60 * MINUTE_MS if stage is Stage.WAITING else 0,
            reasons=reasons or {},
        )
        tally = with_ids(bare, np.arange(1, EVENTS + 1, dtype=np.uint64) + np.uint64(100 * minute))
        found = Range(topic=topic, partition=0, start=start, end=end, newest_ms=now_ms, tallies=[tally])
        self._tracker.ledger.apply(found, self._offset, now_ms)
        self._offset += 1

    def judged(self) -> list[JudgedMinute]:
        """All minutes."""
        return list(self._tracker.between(MINUTE, MINUTE + 1))

    def look(self, now_ms: int) -> DestinationHealth:
        """Judge and return the destination's health, as the control loop does."""
        self._tracker.judge(ReadProgress(marks={}, read_to_ms=now_ms), now_ms)
        self._deliveries.take(self._tracker.touched)
        last = now_ms // MINUTE_MS
        recent = self._tracker.between(last - WINDOW_MINUTES, last + 1)
        window_seconds = (now_ms - (last - WINDOW_MINUTES) * MINUTE_MS) / 1_000
        (hook,) = destination_health(
            recent, self._tracker.still_open(), [("shop", "hook")], window_seconds, self._deliveries.at_ms
        )
        return hook


def findings(hook: DestinationHealth) -> list[str]:
    """The alarms of its customer, while hifi reaches another destination."""
    side = inputs(destinations=[hook, destination("other")])
    return [f"{each.subject}: {each.text}" for each in failures(side, settings())]


@pytest.mark.parametrize(
    "after_minutes", [(1, 6, 11, 16), (1, 6, 66, 126)], ids=["every five minutes", "every hour"]
)
def test_an_outage_of_a_silent_source_is_not_over_while_every_retry_fails(
    after_minutes: tuple[int, ...],
) -> None:
    outage = Outage()
    outage.send()
    for minutes in range(1, after_minutes[-1] + 1):
        now_ms = FIRST_MS + minutes * MINUTE_MS
        if minutes in after_minutes:
            outage.retry(now_ms)
        hook = outage.look(now_ms + 5_000)
        newest = max([0, *(each for each in after_minutes if each <= minutes)])
        assert (hook.health, hook.waiting, hook.delivered) == ("down", EVENTS, 0), minutes
        assert (hook.last_error, hook.last_error_ms) == (EXPIRED, FIRST_MS + newest * MINUTE_MS), minutes
        (finding,) = findings(hook)
        assert finding.startswith("hook certificate_expired: ")
    assert hook.reasons == {EXPIRED: EVENTS}, "each event counts once, however often it was tried"
    assert hook.failed == 0, "of events of the last minutes there was none"
    assert "certificate_expired for 7 events that wait, of which none was delivered since" in finding


def test_a_failure_alarm_ends_with_a_successful_retry_although_others_wait() -> None:
    outage = Outage()
    outage.send()
    outage.send(MINUTE + 1)
    outage.retry(FIRST_MS + 30 * MINUTE_MS, MINUTE + 1)
    assert findings(outage.look(FIRST_MS + 30 * MINUTE_MS))
    outage.deliver(FIRST_MS + 31 * MINUTE_MS)
    for minutes in (31, 60, 89):
        hook = outage.look(FIRST_MS + minutes * MINUTE_MS)
        assert (hook.waiting, hook.reasons, findings(hook)) == (EVENTS, {}, []), minutes
    outage.retry(FIRST_MS + 90 * MINUTE_MS, MINUTE + 1)
    assert findings(outage.look(FIRST_MS + 90 * MINUTE_MS)), "it failed long after the last delivery"


def test_what_a_destination_delivers_now_outweighs_retries_that_fail() -> None:
    outage = Outage()
    outage.send()
    outage.send(MINUTE + 1)
    outage.deliver(FIRST_MS + 20 * MINUTE_MS)
    outage.retry(FIRST_MS + 21 * MINUTE_MS, MINUTE + 1)
    assert findings(outage.look(FIRST_MS + 21 * MINUTE_MS)) == []


def test_the_last_deliveries_of_long_ago_are_forgotten() -> None:
    outage = Outage()
    outage.send()
    outage.deliver(FIRST_MS + MINUTE_MS)
    outage.look(FIRST_MS + 2 * MINUTE_MS)
    deliveries = LastDeliveries()
    deliveries.take(outage.judged())
    assert deliveries.at_ms == {("shop", "hook"): FIRST_MS + MINUTE_MS}
    deliveries.forget(FIRST_MS + 25 * 60 * MINUTE_MS)
    assert deliveries.at_ms
    deliveries.forget(FIRST_MS + 27 * 60 * MINUTE_MS)
    assert not deliveries.at_ms
