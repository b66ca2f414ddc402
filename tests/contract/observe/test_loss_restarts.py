"""A loss stays an alarm for its full time, however old its minute is and however little is left of it."""

import pytest

from pipelines.control.observe.dynamodb import Store
from shared.contracts.topics import Topic
from tests.contract.observe.conftest import Start
from tests.contract.observe.minutes import ids, recent
from tests.contract.observe.side import Side
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually


def looked(observe: ObserveProcess) -> None:
    """Wait for three more looks, in which an alarm without its condition would resolve."""
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


def test_old_minutes_that_become_final_together_are_dropped_once_their_losses_are_named(
    topics: str, start: Start, store_url: str
) -> None:
    """After an outage of the meter, minutes' records are read one minute after the other."""
    first, side = recent() - 25 * 60, Side(topics)
    minutes = range(first, first + 8)
    for at, minute in enumerate(minutes):
        side.collected([f"lost-{at}", f"kept-{at}"], minute)
        side.each(Topic.EVENTS, [f"kept-{at}"], minute)
        side.outbound([f"kept-{at}"], minute, "p")
        side.receipt([f"kept-{at}"], minute, "p")
    side.read()
    side.audit()
    observe, store = start(keep_hours="1"), Store("hifi-meter", store_url)
    eventually(lambda: observe.card(minutes[-1])["lost"] == 1)
    eventually(lambda: not list(store.query("state")), 120, "the minutes are not dropped")
    hops = [hop for minute in minutes for hop in observe.card(minute)["hops"]]
    named = [event["id"] for hop in hops for event in hop.get("named", [])]
    assert named == [f"lost-{at}" for at in range(len(minutes))]
