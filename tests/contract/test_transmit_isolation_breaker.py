"""A destination that keeps failing gets no requests until its breaker lets one through."""

from collections.abc import Iterator

import pytest

from shared.contracts import headers as h
from shared.contracts.topics import Topic
from tests.contract.lanes import asked, late
from tests.contract.transmit_rig import AMPLE, BREAKER_SECONDS, Rig, receipts, records
from tests.harness.scripted_server import reply
from tests.harness.waiting import free_port
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row


@pytest.fixture
def fast() -> Iterator[Rig]:
    """The fast lane, which waits for every answer."""
    found = Rig(lane="fast", patience=AMPLE)
    yield found
    found.close()


def test_a_failing_destination_is_left_alone_and_its_events_wait_in_the_retry_topics(fast: Rig) -> None:
    fast.server.answer("/", reply(503))
    fast.pipe("p1", "/")
    tries, attempts = [], []
    for n in range(5):
        rows = fast.deliver(flat_batch([row(n)]))
        tries.append(receipts(rows)[0].tries)
        assert [r.topic for r in records(rows)] == [Topic.RETRY_IN_30S]
        attempts.append(dict(records(rows)[0].headers)[h.ATTEMPT])
    assert tries == [3, 2, 0, 0, 0]
    assert attempts == [b"1", b"1", b"0", b"0", b"0"], "untried events lose no attempt"
    (receipt,) = receipts(rows)
    assert (receipt.result, receipt.breaker, receipt.lane) == ("retry", "open", "fast")
    assert receipt.reason.startswith("breaker_open: 'p1' ")


def test_refused_connections_open_the_breaker_and_refused_events_do_not(fast: Rig) -> None:
    fast.pipe("gone", "/", port=free_port())
    fast.server.answer("/", reply(400))
    fast.pipe("picky", "/")
    states: dict[str, str] = {}
    for n in range(8):
        rows = fast.deliver(flat_batch([row(n, pipe="gone"), row(100 + n, pipe="picky")]))
        states |= {r.destination: r.breaker for r in receipts(rows)}
    assert states == {"gone": "open", "picky": "closed"}


@pytest.mark.parametrize(("status", "requests", "result"), [(503, 1, "retry"), (200, 20, "delivered")])
def test_one_request_tests_the_destination_and_all_others_wait_for_its_result(
    fast: Rig, status: int, requests: int, result: str
) -> None:
    fast.server.answer("/", reply(503))
    fast.pipe("p1", "/", max_events=1)
    while asked(fast)["/"] < 5:
        fast.deliver(flat_batch([row(1)]))
    late(fast, "/", 0.1, status)
    before = asked(fast)["/"]
    fast.let_pass(BREAKER_SECONDS)
    rows = fast.deliver(flat_batch([row(n) for n in range(100, 120)]))
    assert asked(fast)["/"] - before == requests
    assert {r.result for r in receipts(rows)} == {result}
    assert len(rows) == (20 if result == "delivered" else 40)


def test_a_corrected_document_is_tried_at_once(fast: Rig) -> None:
    fast.server.answer("/bad", reply(503))
    fast.server.answer("/good", reply(200))
    fast.pipe("p1", "/bad")
    for n in range(3):
        fast.deliver(flat_batch([row(n)]))
    fast.pipe("p1", "/good")
    assert [r.result for r in receipts(fast.deliver(flat_batch([row(9)])))] == ["delivered"]
