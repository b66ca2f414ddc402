"""A loss stays an alarm for its time, however old its minute is and whatever is left of it."""

import pytest

from pipelines.control.observe.dynamodb import Store
from shared.contracts.topics import Topic
from tests.contract.observe.conftest import Start
from tests.contract.observe.minutes import ids, recent
from tests.contract.observe.side import Side
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually


def looked(observe: ObserveProcess) -> None:
    """Wait for three more looks, in which an alarm without its condition would end."""
    at_ms = observe.get("/v1/now")["at_ms"]
    eventually(lambda: observe.get("/v1/now")["at_ms"] > at_ms + 1_000)


@pytest.mark.parametrize("hours", [25, pytest.param(100, marks=pytest.mark.proof)])
def test_a_loss_in_an_old_minute_is_an_alarm_also_after_a_restart(
    topics: str, start: Start, store_url: str, hours: int
) -> None:
    minute, side = recent() - 60 * hours, Side(topics)
    side.collected(ids(0, 10), minute)
    side.each(Topic.EVENTS, ids(1, 10), minute)
    side.outbound(ids(1, 10), minute, "p")
    side.receipt(ids(1, 10), minute, "p")
    side.read()
    side.audit()
    settings = {"keep_hours": "1", "alarm_hold_seconds": "0"}
    observe, store = start(**settings), Store("hifi-meter", store_url)
    (alarm,) = eventually(lambda: observe.get("/v1/alarms?tenant=acme&open=true"))
    assert alarm["kind"] == "loss"
    eventually(lambda: not list(store.query("state")), 60, "the minute is not dropped")
    looked(observe)
    assert [each["id"] for each in observe.get("/v1/alarms?tenant=acme&open=true")] == [alarm["id"]]
    assert observe.stop() == 0
    again = start(**settings)
    looked(again)
    assert [each["id"] for each in again.get("/v1/alarms?tenant=acme&open=true")] == [alarm["id"]]
