"""After a start an alarm does not resolve before the inputs that raised it are read."""

from collections.abc import Mapping

import pytest

from pipelines.control.observe.alarms.history import History
from pipelines.control.observe.alarms.inputs import Inputs, NodeProgress, StoppedRollout
from pipelines.control.observe.alarms.lifecycle import AlarmState, AlarmTiming, step
from pipelines.control.observe.alarms.rules import evaluate
from pipelines.control.observe.health.rollout_watch import RolloutWatch
from shared.contracts.documents import Catalogue, Entry, Pipe
from shared.contracts.side_weights import LOCAL
from shared.contracts.skew import FieldSkew, SkewState
from shared.contracts.watches import Watch
from shared.dynamodb.rollout_store import RolloutStore
from tests.unit.pipelines.control.observe.alarm_inputs import NOW, inputs, settings

WATCHING = Pipe(
    name="orders",
    tenant="shop",
    source="web",
    destination="hook",
    watch=[Watch(field="data.score", kind="categories")],
)
CATALOGUE = Catalogue({b"orders": Entry(version=1, document=WATCHING)})
STOPPED = StoppedRollout(tenant="shop", pipe="orders", share=1, reason="fewer than 95 % were good")
SKEWED = FieldSkew(
    tenant="shop",
    pipe="orders",
    field="data.score",
    kind="categories",
    state=SkewState.SKEWED,
    hour_ms=0,
    events=1_000,
    days=7,
    events_before=7_000,
    psi=1.0,
    missing=0.0,
    missing_before=0.0,
    changes=["PSI 1.00"],
    bars=[],
)


def looked(tracked: Mapping[str, AlarmState], now: Inputs) -> dict[str, AlarmState]:
    timing = AlarmTiming(hold_ms=0, relapse_ms=600_000, update_ms=300_000)
    return step(tracked, evaluate(now, History(), CATALOGUE, settings()), [], timing, now.at_ms)[0]


@pytest.mark.parametrize("name", ["stopped", "skews"])
def test_an_alarm_stays_open_until_its_inputs_are_known(name: str) -> None:
    tracked = looked({}, inputs(stopped=[STOPPED], skews=[SKEWED]))
    assert [each.open for each in tracked.values()] == [True, True]
    later = looked(tracked, inputs(stopped=None, skews=None, at_ms=NOW + 1))
    assert later == tracked
    known = {"stopped": [STOPPED], "skews": [SKEWED]} | {name: []}
    assert sorted(each.open for each in looked(later, inputs(**known, at_ms=NOW + 2)).values()) == [
        False,
        True,
    ]


def test_a_stalled_node_is_one_until_offsets_say_otherwise() -> None:
    route = NodeProgress(node="route", readable=5, moved_ms=NOW - 120_000)
    tracked = looked({}, inputs(nodes=[route]))
    assert [each.open for each in tracked.values()] == [True]
    later = looked(tracked, inputs(nodes=None, at_ms=NOW + 1))
    assert later == tracked
    assert looked({}, inputs(nodes=None)) == {}
    assert [each.open for each in looked(later, inputs(nodes=[], at_ms=NOW + 2)).values()] == [False]


def test_stopped_rollouts_are_not_known_before_the_first_look() -> None:
    assert RolloutWatch(RolloutStore("documents", "http://127.0.0.1:1"), LOCAL).stopped() is None
    assert RolloutWatch(None, LOCAL).stopped() == (), "a side without a table has none"
