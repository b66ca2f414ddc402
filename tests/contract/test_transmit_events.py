"""Events of all destinations: none reaches another tenant, none arrives twice, none vanishes."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType
from pipelines.data.transmit.connectors.registry import CONNECTORS
from pipelines.data.transmit.events import Event
from shared.connectors.spec import ConnectorSpec
from shared.contracts import headers as h
from shared.contracts.documents import Destination
from shared.contracts.topics import Topic
from tests.contract.transmit_rig import AMPLE, Rig, header, receipts, records
from tests.harness.scripted_server import reply
from tests.harness.waiting import eventually
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row


def test_missing_pipe_and_missing_destination_are_dead_letters_that_say_so(rig: Rig) -> None:
    rows = rig.deliver(flat_batch([row(1, pipe="nobody")]))
    (dead,) = records(rows)
    assert dead.topic == Topic.DEAD_LETTER
    assert header(dead.headers, h.REASON).startswith("unknown_pipe: ")
    rig.pipe("p1", "/")
    rig.without("destination", "p1")
    (dead,) = records(rig.deliver(flat_batch([row(2)])))
    assert dead.topic == Topic.DEAD_LETTER
    assert header(dead.headers, h.REASON).startswith("unknown_destination: ")


def test_events_of_a_pipe_that_this_process_may_not_know_yet_wait_and_that_is_no_attempt(rig: Rig) -> None:
    rig.is_newest = False
    rows = rig.deliver(flat_batch([row(1, pipe="new"), row(2, pipe="new", attempt=2)]))
    assert [record.topic for record in records(rows)] == [Topic.RETRY_IN_30S] * 2
    assert [header(record.headers, h.ATTEMPT) for record in records(rows)] == ["0", "1"]
    assert header(records(rows)[0].headers, h.REASON).startswith("configuration: unknown_pipe: ")


class _Unloadable(dict[str, ConnectorType[Any]]):
    """Connectors; s3 cannot be imported at first."""

    def __init__(self) -> None:
        super().__init__(CONNECTORS)
        self.failures = 1

    def get(self, name: str, default: Any = None) -> Any:
        if name == "s3" and self.failures:
            self.failures -= 1
            raise ImportError("cannot import name 'loads'")
        return super().get(name, default)


def test_a_connector_that_cannot_be_loaded_holds_up_its_own_events_alone_and_is_looked_up_again(
    rig: Rig,
) -> None:
    rig.use(_Unloadable())
    rig.server.answer("/", reply(200))
    rig.pipe("good", "/")
    rig.lead("broken", "s3", {})
    rows = rig.deliver(flat_batch([row(1, pipe="broken"), row(2, pipe="good")]))
    assert [receipt.result for receipt in receipts(rows) if receipt.pipe == "good"] == ["delivered"]
    (waiting,) = records(rows)
    assert waiting.topic == Topic.RETRY_IN_30S
    assert header(waiting.headers, h.REASON).startswith("internal: ImportError")
    (waiting,) = records(rig.deliver(flat_batch([row(3, pipe="broken")])))
    assert header(waiting.headers, h.REASON).startswith("bad_options: the s3 connector")


def test_two_tenants_pipes_of_one_name_send_to_their_own_destinations_of_one_name(rig: Rig) -> None:
    for tenant, status in (("acme", 200), ("zoo", 404)):
        rig.server.answer(f"/{tenant}", reply(status))
        rig.pipe("p1", f"/{tenant}", tenant=tenant)
    rows = rig.deliver(flat_batch([row(1, tenant="acme"), row(2, tenant="zoo"), row(3, tenant="acme")]))
    assert {(r.tenant, r.result): r.ids for r in receipts(rows)} == {
        ("acme", "delivered"): ["e1", "e3"],
        ("zoo", "dead"): ["e2"],
    }
    (dead,) = records(rows)
    assert (header(dead.headers, h.TENANT), header(dead.headers, h.DESTINATION)) == ("zoo", "p1")
    sent = {head.split()[1]: json.loads(body) for head, body in _requests(rig)}
    assert {path: [e["id"] for e in body] for path, body in sent.items()} == {
        b"/acme": ["e1", "e3"],
        b"/zoo": ["e2"],
    }


def test_the_breaker_lane_and_limits_of_a_destination_are_its_tenants(rig: Rig) -> None:
    for tenant in ("acme", "zoo"):
        rig.pipe("p1", "/", tenant=tenant)
    rig.server.answer("/", reply(200))
    rig.deliver(flat_batch([row(1, tenant="acme"), row(2, tenant="zoo")]))
    mine, theirs = (rig.gate(tenant, "p1") for tenant in ("acme", "zoo"))
    mine.overdue()
    assert mine is not theirs
    assert theirs.pace.quick == 1, "its own request only"


def _requests(rig: Rig) -> list[tuple[bytes, bytes]]:
    return list(zip(rig.server.heads, rig.server.bodies, strict=True))


def test_a_record_that_names_no_tenant_is_quarantined(rig: Rig) -> None:
    rig.pipe("p1", "/")
    (found,) = rig.deliver(flat_batch([row(1, tenant=None)]))
    assert found.topic == Topic.QUARANTINE
    assert header(found.headers, h.REASON) == f"unreadable: no header {h.TENANT}"


def test_a_pipe_sends_nothing_to_another_tenants_destination(rig: Rig) -> None:
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/", owner="somebody-else")
    (dead,) = records(rig.deliver(flat_batch([row(1)])))
    assert dead.topic == Topic.DEAD_LETTER
    assert header(dead.headers, h.REASON).startswith("unknown_destination: ")
    assert rig.server.bodies == []


@pytest.mark.parametrize("first_try", ["0", "999999999999999", "9" * 18, "-1", "soon", ""])
def test_no_first_try_stops_a_failing_destination_from_being_retried(rig: Rig, first_try: str) -> None:
    rig.server.answer("/", reply(500))
    rig.pipe("p1", "/")
    (later,) = records(rig.deliver(flat_batch([row(1, attempt=2, first_try=first_try)])))
    assert later.topic in (Topic.RETRY_IN_5M, Topic.DEAD_LETTER)


@pytest.mark.parametrize("events", [range(10), [1] * 10], ids=["events", "copies of one"])
def test_a_task_takes_no_more_than_it_may_have_under_way(rig: Rig, events: Sequence[int]) -> None:
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/", max_events=1)
    task = rig.task(deadline=AMPLE)
    list(task.take(flat_batch([row(n, value=b'"%s"' % (b"x" * 1000)) for n in events])))
    assert 10_000 < task.unsettled_bytes < 20_000
    while task.waiting:
        list(task.answers(block=True))
    task.close()
    assert task.unsettled_bytes == 0


def test_events_that_spark_brings_late_have_all_the_time_of_the_others(rig: Rig) -> None:
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/")

    def brought() -> Iterator[pa.RecordBatch]:
        yield flat_batch([row(1)])
        eventually(lambda: len(rig.server.bodies) == 1 and rig.tasks() == 0)
        rig.let_pass(AMPLE)
        yield flat_batch([row(2)])

    rows = rig.deliver_as_read(brought(), deadline=AMPLE)
    assert sorted(i for r in receipts(rows) if r.result == "delivered" for i in r.ids) == ["e1", "e2"]
    assert not records(rows)


def test_same_event_twice_in_a_task_is_sent_once(rig: Rig) -> None:
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/")
    rows = rig.deliver(flat_batch([row(1), row(2), row(1)]), flat_batch([row(2), row(3)]))
    sent = [e["id"] for body in rig.server.bodies for e in json.loads(body)]
    assert sorted(sent) == ["e1", "e2", "e3"]
    counts = sorted((r.result, i) for r in receipts(rows) for i in r.ids)
    expected = [("delivered", f"e{n}") for n in (1, 2, 3)] + [("duplicate", "e1"), ("duplicate", "e2")]
    assert counts == expected


def test_copies_of_a_failed_event_share_its_fate(rig: Rig) -> None:
    rig.server.answer("/", reply(500))
    rig.pipe("p1", "/")
    rows = rig.deliver(flat_batch([row(1), row(1)]))
    assert [r.topic for r in records(rows)] == [Topic.RETRY_IN_30S] * 2
    assert [r.result for r in receipts(rows)] == ["retry", "retry"]
    assert len(rig.server.bodies) == 3


def test_task_run_again_writes_the_receipts_that_its_first_run_could_not(rig: Rig) -> None:
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/")
    rig.deliver(flat_batch([row(1)]))
    (receipt,) = receipts(again := rig.deliver(flat_batch([row(1)])))
    assert (receipt.result, receipt.tries) == ("delivered", 0)
    assert dict(again[0].headers)[h.DELIVERED] == row(1)["key"]
    assert len(rig.server.bodies) == 1


def test_an_event_that_is_processed_again_is_sent_again_and_only_once(rig: Rig) -> None:
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/")
    rig.deliver(flat_batch([row(1, value=b'"bad"')]))
    good = row(1, value=b'"good"', replay="r1")
    (first,) = receipts(rig.deliver(flat_batch([good])))
    assert (first.result, first.tries, first.replay) == ("delivered", 1, "r1")
    repeated = receipts(rig.deliver(flat_batch([good, row(1, value=b'"bad"')])))
    assert [(each.tries, each.replay) for each in repeated] == [(0, "r1"), (0, "")]
    assert [json.loads(body)[0]["data"] for body in rig.server.bodies] == ["bad", "good"]


def test_the_mark_of_a_replay_goes_with_an_event_that_has_to_wait(rig: Rig) -> None:
    rig.server.answer("/wait", reply(500))
    rig.server.answer("/dead", reply(404))
    rig.pipe("p1", "/wait")
    rig.pipe("p2", "/dead")
    batch = flat_batch([row(1, replay="r1"), row(2, replay="r1", pipe="p2"), row(3)])
    moved = {header(each.headers, h.CE_ID): dict(each.headers) for each in records(rig.deliver(batch))}
    assert {name: found.get(h.REPLAY) for name, found in moved.items()} == {
        "e1": b"r1",
        "e2": b"r1",
        "e3": None,
    }


def test_failed_event_is_not_remembered(rig: Rig) -> None:
    rig.server.answer("/", reply(400))
    rig.pipe("p1", "/")
    rig.deliver(flat_batch([row(1)]))
    rig.server.answer("/", reply(200))
    assert [r.result for r in receipts(rig.deliver(flat_batch([row(1)])))] == ["delivered"]


def test_an_unusable_record_is_quarantined_and_its_neighbours_are_sent(rig: Rig) -> None:
    rig.server.answer("/", reply(200))
    rig.pipe("p1", "/")
    bad = [
        row(2, pipe=None),
        row(3, value=b"{"),
        row(4, value=b'"\xff"'),
    ]
    rows = rig.deliver(flat_batch([row(1), *bad]))
    assert [r.ids for r in receipts(rows)] == [["e1"]]
    found = records(rows)
    assert {r.topic for r in found} == {Topic.QUARANTINE}
    assert [header(r.headers, h.ORIGIN) for r in found] == ["outbound/0/2", "outbound/0/3", "outbound/0/4"]
    assert [r.value for r in found] == [b["value"] for b in bad]


class Anything(msgspec.Struct):
    """Options that accept everything."""


class Defective:
    """A connector that violates its contract."""

    async def send(
        self, destination: Destination, options: Anything, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        raise LookupError("a defect")

    async def close(self) -> None:
        pass


async def open_defective(_: ConnectorContext) -> Defective:
    return Defective()


def test_a_defect_in_a_connector_costs_nothing_but_time(rig: Rig) -> None:
    rig.pipe("p1", "/")
    rig.use(
        {"webhook": ConnectorType(spec=ConnectorSpec(description="", options=Anything), open=open_defective)}
    )
    (later,) = records(rows := rig.deliver(flat_batch([row(1)])))
    assert later.topic == Topic.RETRY_IN_30S
    assert [(r.result, r.reason) for r in receipts(rows)] == [("retry", "internal: LookupError")]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"connector": "fax"}, "unknown_connector: there is no connector 'fax'"),
        ({"connector": "base"}, "unknown_connector: there is no connector 'base'"),
        (
            {"options": {"url": 7}},
            "bad_options: the webhook connector: Expected `str`, got `int` - at `$.url`",
        ),
    ],
)
def test_a_destination_of_a_newer_version_waits_for_it_and_nothing_is_sent(
    rig: Rig, changes: dict[str, Any], said: str
) -> None:
    rig.pipe("p1", "/", **changes)
    (later,) = records(rows := rig.deliver(flat_batch([row(1)])))
    assert (later.topic, header(later.headers, h.REASON)) == (Topic.RETRY_IN_30S, said)
    assert [(r.result, r.tries) for r in receipts(rows)] == [("retry", 0)]
