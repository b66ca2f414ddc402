"""A row written by a newer version hides no other row and ends no thread of observe."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any

import msgspec
import pytest

from pipelines.control.observe.health.activity_watch import ActivityWatch
from pipelines.control.observe.health.rollout_watch import RolloutWatch
from shared.contracts.diamond.activities import Action
from shared.contracts.diamond.stability import Stability
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import ROLLOUTS, RolloutPhase, RolloutState, at_step, halted, state_key
from shared.contracts.side_weights import LOCAL
from shared.dynamodb import activity_rows
from shared.dynamodb.activity_reader import ActivityReader
from shared.dynamodb.activity_register import ActivityRegister, Waits
from shared.dynamodb.client import dynamodb_client
from shared.dynamodb.document_rows import row_key
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.rollout_store import RolloutStore
from shared.runtime.clock import wall_clock
from tests.harness.waiting import eventually

TABLE = "documents"
STABLE = Stability(stable=True)


@pytest.fixture
def put(store_url: str) -> Callable[[Mapping[str, Any]], None]:
    """Write a row as it is."""
    DocumentTable(TABLE, store_url).ensure()
    client = dynamodb_client(store_url)
    return lambda row: client.put_item(TableName=TABLE, Item=row)


def logged_rows(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.__dict__["row"] for record in caplog.records if "row" in record.__dict__]


@contextmanager
def running(watch: ActivityWatch | RolloutWatch) -> Iterator[None]:
    watch.start()
    try:
        yield
    finally:
        watch.stop()


def reader(url: str) -> ActivityReader:
    return ActivityReader(TABLE, url, side=LOCAL, clock=wall_clock, monotonic=monotonic)


def unknown_activity() -> dict[str, Any]:
    item: dict[str, Any] = {"id": "newer", "action": "verify a backup", "reason": "r", "owner": "o"}
    item |= {"fence": 9, "since_ms": 1, "lease_seconds": 30}
    numbers = {"beat": {"N": "1"}, "fence": {"N": "9"}}
    return row_key(activity_rows.partition(LOCAL), "activity/newer") | {
        "item": {"S": json.dumps(item)},
        **numbers,
    }


def begin(url: str, owner: str) -> None:
    register = ActivityRegister(TABLE, url, side=LOCAL, owner=owner, clock=wall_clock, monotonic=monotonic)
    assert not isinstance(register.begin(Action.REPLACE_CODE, "1.4", STABLE), Waits)


def test_an_activity_of_an_unknown_action_hides_no_other(
    store_url: str, put: Callable[[Mapping[str, Any]], None], caplog: pytest.LogCaptureFixture
) -> None:
    begin(store_url, "deployer")
    put(unknown_activity())
    watch = ActivityWatch(reader(store_url), wall_clock)
    with running(watch), caplog.at_level(logging.ERROR):
        eventually(watch.windows, 20, "a quiet window for the release")
        first = watch.register()
        eventually(lambda: watch.register() is not first, 20, "a second look")
    found = watch.register()
    assert found is not None
    assert [each.owner for each in found.activities] == ["deployer"]
    assert logged_rows(caplog) == ["activity/newer"]


def test_activities_that_fill_more_than_one_answer_of_the_table_are_all_known(
    store_url: str, put: Callable[[Mapping[str, Any]], None]
) -> None:
    begin(store_url, "deployer")
    [known] = reader(store_url).look().activities
    for number in range(4):
        long = msgspec.structs.replace(known, id=f"{number}", reason="x" * 390_000)
        put(activity_rows.added(TABLE, LOCAL, activity_rows.ACTIVITY, long)["Put"]["Item"])
    assert len(reader(store_url).look().activities) == 5


def test_an_activity_of_an_unknown_action_is_an_error_to_those_who_act(
    store_url: str, put: Callable[[Mapping[str, Any]], None]
) -> None:
    put(unknown_activity())
    with pytest.raises(msgspec.ValidationError):
        begin(store_url, "deployer")


def test_activities_are_followed_again_after_an_unexpected_error(
    store_url: str, put: Callable[[Mapping[str, Any]], None], caplog: pytest.LogCaptureFixture
) -> None:
    put(activity_rows.serial_key(LOCAL))  # without its number
    watch = ActivityWatch(reader(store_url), wall_clock)
    with running(watch), caplog.at_level(logging.ERROR):
        eventually(lambda: "unexpected error" in caplog.text, 20, "the error is logged")
        put(activity_rows.serial_key(LOCAL) | {"fence": {"N": "0"}})
        eventually(watch.register, 20, "the register is known")


def stopped(reason: str) -> RolloutState:
    going = at_step(Rollout(steps=[1, 10, 100]), 2, 5, revision=0)
    return halted(going, RolloutPhase.STOPPED, 1, 6, reason)


def test_a_rollout_of_an_unknown_phase_hides_no_other(
    store_url: str, put: Callable[[Mapping[str, Any]], None], caplog: pytest.LogCaptureFixture
) -> None:
    store = RolloutStore(TABLE, store_url)
    newer = msgspec.to_builtins(stopped("r")) | {"state": "mirrored", "side": LOCAL}
    put(row_key(ROLLOUTS, state_key("acme", "a")) | {"item": {"S": json.dumps(newer)}})
    store.put(state_key("acme", "b"), stopped("too few were good"), LOCAL)
    watch = RolloutWatch(store, LOCAL)
    with running(watch), caplog.at_level(logging.ERROR):
        (found,) = eventually(watch.stopped, 20, "the rollout that stopped")
    assert (found.tenant, found.pipe, found.reason) == ("acme", "b", "too few were good")
    assert logged_rows(caplog) == ["acme/a"]
    with pytest.raises(msgspec.ValidationError):
        store.states()


class FailsOnce(RolloutStore):
    failed = False

    def readable_states(self) -> tuple[dict[str, RolloutState], list[str]]:
        if not self.failed:
            self.failed = True
            raise RuntimeError("unexpected")
        return super().readable_states()


@pytest.mark.usefixtures("put")
def test_rollouts_are_followed_again_after_an_unexpected_error(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.control.observe.health.rollout_watch._EVERY_SECONDS", 0.1)
    store = FailsOnce(TABLE, store_url)
    store.put(state_key("acme", "b"), stopped("too few were good"), LOCAL)
    watch = RolloutWatch(store, LOCAL)
    with running(watch):
        eventually(watch.stopped, 20, "the rollout that stopped")
