"""A source that stopped is silent until it sends again, also for a process that never saw its events."""

from pipelines.control.observe.alarms.history import History, updated
from pipelines.control.observe.alarms.inputs import Inputs, SourceMinutes
from shared.contracts.alarms import AlarmKind
from tests.unit.pipelines.control.observe.alarm_inputs import MINUTE, NOW, found, inputs, settings

HOUR = list(range(MINUTE - 64, MINUTE - 4))
LATER = NOW + 7 * 3_600_000
"""Later than `keep_hours`: of the source's minutes only the cards are left."""


def sends(*minutes: int, at_ms: int = NOW) -> Inputs:
    return inputs(at_ms=at_ms, sources=[SourceMinutes(tenant="shop", name="web", minutes=minutes)])


def stored() -> History:
    return History.decode(updated(History(), sends(*HOUR), settings()).encode())


def test_a_source_stays_silent_after_a_restart_without_its_minutes() -> None:
    for known in (inputs(at_ms=LATER), sends(MINUTE - 5, at_ms=LATER)):
        (finding,) = found(known, stored())
        assert (finding.kind, finding.tenant, finding.subject) == (AlarmKind.SILENT, "shop", "web")
        assert finding.text.startswith("source web has sent nothing for 425 minutes, since 2025-02-19 21:15")


def test_a_source_that_sent_while_the_process_was_away_is_not_silent() -> None:
    assert found(sends(MINUTE + 400, at_ms=LATER), stored()) == []


def test_a_source_that_was_silent_for_a_day_counts_as_retired_after_a_restart() -> None:
    assert found(inputs(at_ms=NOW + 24 * 3_600_000), stored()) == []
