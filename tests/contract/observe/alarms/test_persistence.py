"""Alarms and notices survive restarts and failures of the store."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator

import pytest

from pipelines.control.observe.alarms.lifecycle import AlarmState
from pipelines.control.observe.alarms.service import Alarms
from pipelines.control.observe.dynamodb import Item, Store
from shared.contracts.alarms import AlarmKind, QuietWindow
from shared.contracts.documents import Catalogue
from shared.contracts.scorecard import ALL_TENANTS
from shared.dynamodb.client import StoreError
from shared.runtime.clock import wall_clock
from shared.runtime.secrets import SecretTable
from tests.contract.observe.alarms.conftest import Start, stalled
from tests.contract.observe.alarms.far import Far
from tests.harness.waiting import eventually, free_port
from tests.unit.pipelines.control.observe.alarm_inputs import settings


def test_a_notice_outlives_the_process_and_is_then_sent_with_the_same_id(
    receiver: Far, start: Start, store: Store
) -> None:
    def stored() -> int:
        return len(list(store.query("notice")))

    receiver.status = 503
    with start(alarm_webhook=receiver.url) as alarms:
        alarms.update(stalled("route"))
        eventually(lambda: bool(receiver.requests), 60, "nothing was tried")
        eventually(lambda: stored() == 1, 60, "the notice is not kept")
    assert stored() == 1
    receiver.status, before = 204, len(receiver.requests)
    with start(alarm_webhook=receiver.url) as alarms:
        eventually(lambda: alarms.update(stalled("route")) or not stored(), 60, "the notice is still kept")
    assert len(receiver.requests) == before + 1
    assert len({headers["webhook-id"] for _, headers, _ in receiver.requests}) == 1


def kept(store: Store) -> dict[str, bool]:
    """Subject of each stored alarm, and whether it is open."""
    states = [AlarmState.decode(item.body) for item in store.query("alarm")]
    return {state.alarm.subject: state.open for state in states}


def test_an_open_alarm_and_a_quiet_window_survive_a_restart(start: Start, store: Store) -> None:
    with start() as alarms:
        alarms.update(stalled("route"))
        (before,) = alarms.listed(ALL_TENANTS)
        now = wall_clock()
        window = alarms.add_window(
            QuietWindow(from_ms=now, until_ms=now + 3_600_000, kinds=[AlarmKind.STALLED], reason="deployment")
        )
        eventually(lambda: kept(store) == {"route": True}, 60, "the alarm is not stored")
    with start() as alarms:
        assert alarms.listed(ALL_TENANTS, True) == [before]
        assert alarms.windows() == [window]
        alarms.update(stalled("route", "retry"))
        quiet = {each.subject: each.quiet for each in alarms.listed(ALL_TENANTS, True)}
        assert quiet == {"route": "deployment", "retry": "deployment"}
        assert alarms.open_by_kind()[AlarmKind.STALLED] == 2
        assert alarms.remove_window(window.id)
        assert not alarms.remove_window(window.id)
        alarms.update(stalled())
        eventually(lambda: kept(store) == {"route": False, "retry": False}, 60, "their end is not stored")
    with start() as alarms:
        assert alarms.windows() == []
        assert alarms.listed(ALL_TENANTS, True) == []
        assert [each.resolved_ms is None for each in alarms.listed(ALL_TENANTS, False)] == [False, False]
        assert alarms.listed("shop") == []


def test_an_unavailable_store_delays_no_notice(receiver: Far, secrets: SecretTable, aws: str) -> None:
    away = Store("alarms", f"http://127.0.0.1:{free_port()}")
    alarms = Alarms(settings(alarm_webhook=receiver.url), away, Catalogue, secrets, wall_clock)
    try:
        with pytest.raises(StoreError):
            alarms.restore()
        alarms.update(stalled("route"))
        eventually(lambda: bool(receiver.notices()), 60, "the operator got no notice")
        now = wall_clock()
        with pytest.raises(StoreError):
            alarms.add_window(QuietWindow(from_ms=now, until_ms=now + 1_000, reason="deployment"))
        assert alarms.windows() == []
    finally:
        alarms.close()


HANGS_SECONDS = 60


class HangingStore(Store):
    """Blocks writes until the test releases it."""

    def __init__(self, table: str, endpoint: str) -> None:
        super().__init__(table, endpoint)
        self.released = threading.Event()

    def put(self, items: Iterable[Item]) -> None:
        self.released.wait(HANGS_SECONDS)
        super().put(items)


def test_a_store_that_hangs_delays_no_look_and_has_the_last_state_afterwards(
    store: Store, secrets: SecretTable, aws: str
) -> None:
    hanging = HangingStore("hanging", aws)
    hanging.ensure()
    first = Alarms(settings(alarm_hold_seconds=0), hanging, Catalogue, secrets, wall_clock)
    began = time.monotonic()
    for nodes in (("route",), ("route", "ingest"), ("ingest",), ("ingest", "retry")):
        first.update(stalled(*nodes))
    assert time.monotonic() - began < HANGS_SECONDS / 2
    hanging.released.set()
    last = {"route": False, "ingest": True, "retry": True}
    eventually(lambda: kept(hanging) == last, 60, "the last state is not stored")
    first.close()
    second = Alarms(settings(), hanging, Catalogue, secrets, wall_clock)
    second.restore()
    assert {each.subject for each in second.listed(ALL_TENANTS, True)} == {"ingest", "retry"}
    assert {each.subject for each in second.listed(ALL_TENANTS, False)} == {"route"}
    second.close()


def test_failed_writes_are_repeated_when_the_store_is_back(
    store: Store, secrets: SecretTable, aws: str
) -> None:
    late = Store("late", aws)  # the table does not exist yet
    first = Alarms(settings(), late, Catalogue, secrets, wall_clock)
    first.update(stalled("route"))
    late.ensure()
    eventually(lambda: bool(list(late.query("alarm"))), 60, "the alarm was not stored")
    first.close()
    second = Alarms(settings(), late, Catalogue, secrets, wall_clock)
    second.restore()
    assert [each.subject for each in second.listed(ALL_TENANTS, True)] == ["route"]
    second.close()


class PausingStore(Store):
    """Calls back once, after reading the quiet windows and before returning them."""

    def __init__(self, table: str, endpoint: str) -> None:
        super().__init__(table, endpoint)
        self.between: Callable[[], None] = lambda: None

    def query(self, pk: str, first: str = "", last: str = "\U0010ffff") -> Iterator[Item]:
        found = list(super().query(pk, first, last))
        if pk == "quiet":
            self.between()
        return iter(found)


def test_a_window_that_is_posted_during_the_restore_stays_in_force(
    store: Store, secrets: SecretTable, aws: str
) -> None:
    pausing, now = PausingStore("alarms", aws), wall_clock()
    alarms = Alarms(settings(), pausing, Catalogue, secrets, wall_clock)
    window = QuietWindow(from_ms=now, until_ms=now + 3_600_000, reason="deployment")
    post = threading.Thread(target=alarms.add_window, args=(window,))

    def posted() -> None:
        post.start()
        # The request may wait for the restore; unblocked, a second is enough for two requests.
        post.join(1.0)

    pausing.between = posted
    try:
        alarms.restore()
        post.join()
        assert [each.reason for each in alarms.windows()] == ["deployment"]
        assert len(list(store.query("quiet"))) == 1
    finally:
        alarms.close()
