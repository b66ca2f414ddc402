"""Promises that every connector keeps, whatever protocol it speaks. Its test module has a fixture `far` and
a class derived from `Conformance`:

    @pytest.fixture
    def far() -> Iterator[Far]: ...

    class TestS3(Conformance): ...

Each test runs transmit's own delivery around the connector, with three local tries, and checks where the
events end: in receipts, in records and at the far side.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

from pipelines.data.transmit.delivery.kafka_rows import Row
from scripts.local.side import REACH
from shared.contracts import headers as h
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.topics import Topic
from tests.contract.connectors.far import Far, Silent, nobody
from tests.contract.transmit_rig import AMPLE, Rig, receipts, records
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

EVENTS = 6
ALL = [f"e{number}" for number in range(EVENTS)]
TRIES = 3
DEADLINE = AMPLE
"""Seconds of a micro-batch."""

TRY_SECONDS, MICRO_BATCH_SECONDS = 0.25, 1.0
"""Seconds of a try, and of a micro-batch, that end because the far side is silent."""

SLACK = 40.0
"""Seconds that a busy machine may add to a deadline; less than a wrong wait would take."""


class Conformance:
    """The suite; test names say what a connector must do."""

    @pytest.fixture
    def silent(self) -> Iterator[Silent]:
        server = Silent()
        yield server
        server.close()

    def test_accepted_events_have_one_receipt_and_one_copy(self, far: Far, rig: Rig) -> None:
        rows = send(rig)
        assert ends(rows) == dict.fromkeys(ALL, "delivered")
        assert Counter(far.received()) == Counter(ALL)
        assert not records(rows)

    def test_batches_are_taken_one_after_the_other_and_in_parallel(self, far: Far, rig: Rig) -> None:
        lead(rig, far, "p2", max_events=1)
        rows = send(rig) + rig.deliver(
            flat_batch([row(n, pipe="p2") for n in range(10, 30)]), deadline=DEADLINE
        )
        assert set(ends(rows).values()) == {"delivered"}, reasons(rows)
        assert Counter(far.received()) == Counter([*ALL, *(f"e{n}" for n in range(10, 30))])

    def test_no_success_is_claimed_for_an_event_that_was_refused(self, far: Far, rig: Rig) -> None:
        can(far, "refuse")
        far.refuse({"e2", "e4"})
        found = ends(send(rig))
        assert {id_ for id_, end in found.items() if end == "delivered"} == set(far.received())
        assert (found["e2"], found["e4"]) == ("dead", "dead")
        if far.per_event:
            assert Counter(far.received()) == Counter(set(ALL) - {"e2", "e4"})

    def test_accepted_events_are_not_sent_again_with_failed_ones(self, far: Far, rig: Rig) -> None:
        can(far, "fail_once")
        far.fail_once({"e1"})
        assert ends(send(rig)) == dict.fromkeys(ALL, "delivered")
        assert Counter(far.received()) == Counter(ALL)

    def test_a_throttled_destination_is_left_alone_and_the_events_wait(self, far: Far, rig: Rig) -> None:
        can(far, "throttle")
        far.throttle()
        rows = send(rig)
        assert ends(rows) == dict.fromkeys(ALL, "retry")
        assert {record.topic for record in records(rows)} <= {Topic.RETRY_IN_30S, Topic.RETRY_IN_5M}
        assert far.requests() <= TRIES * (EVENTS if far.alone else 1)
        assert not far.received()

    def test_an_address_without_a_listener_means_later(self, far: Far, rig: Rig) -> None:
        lead(rig, far, "p1", port=nobody())
        rows = send(rig, deadline=6.0)
        assert ends(rows) == dict.fromkeys(ALL, "retry")
        assert rig.seconds < 6.0 + SLACK
        assert all(": " in text for text in reasons(rows))

    def test_a_try_ends_in_its_time_and_its_events_wait(self, far: Far, rig: Rig, silent: Silent) -> None:
        lead(rig, far, "p1", port=silent.port, timeout_seconds=TRY_SECONDS)
        rows = send(rig)
        assert ends(rows) == dict.fromkeys(ALL, "retry")
        assert rig.seconds < TRIES * TRY_SECONDS * (2 if far.alone else 1) + SLACK
        assert all(text.startswith("timeout: ") for text in reasons(rows))

    def test_a_micro_batch_ends_in_its_time(self, far: Far, rig: Rig, silent: Silent) -> None:
        lead(rig, far, "p1", port=silent.port, timeout_seconds=AMPLE)
        assert ends(send(rig, deadline=MICRO_BATCH_SECONDS)) == dict.fromkeys(ALL, "retry")
        assert rig.seconds < MICRO_BATCH_SECONDS + SLACK

    def test_others_do_not_wait_for_a_destination_that_hangs(
        self, far: Far, rig: Rig, silent: Silent
    ) -> None:
        lead(rig, far, "stuck", port=silent.port, max_events=1)
        send(rig)
        task = rig.task(DEADLINE)
        rows = list(task.take(flat_batch([row(n, pipe="stuck") for n in range(100, 140)] + events(20, 30))))
        fine = {f"e{n}" for n in range(20, 30)}
        while not fine <= ends(rows).keys():
            rows += task.answers(block=True)
        task.close()
        assert ends(rows) == dict.fromkeys(fine, "delivered"), "before the first of those that hang"

    def test_an_event_that_is_too_large_does_not_keep_its_neighbours(self, far: Far, rig: Rig) -> None:
        large = b'"' + b"x" * (far.largest or 1_500_000) + b'"'
        lead(rig, far, "p1", max_bytes=8 * 1024 * 1024)
        rows = rig.deliver(flat_batch([*events(0, 3), row(3, value=large), *events(4, 6)]), deadline=DEADLINE)
        expected = dict.fromkeys(ALL, "delivered") | ({"e3": "dead"} if far.largest else {})
        assert ends(rows) == expected
        assert Counter(far.received()) == Counter(id_ for id_, end in expected.items() if end == "delivered")

    def test_an_answer_that_was_lost_loses_no_event(self, far: Far, rig: Rig) -> None:
        can(far, "lose_answer_once")
        far.lose_answer_once()
        assert ends(send(rig)) == dict.fromkeys(ALL, "delivered")
        there = Counter(far.received())
        assert there.keys() == set(ALL)
        assert max(there.values()) <= (1 if far.overwrites else 2)

    def test_a_secret_that_is_missing_means_later_and_nothing_is_sent(self, far: Far, rig: Rig) -> None:
        for reference in far.secrets:
            rig.secrets.values = {name: text for name, text in kept(far).items() if name != reference}
            rows = send(rig)
            assert ends(rows) == dict.fromkeys(ALL, "retry")
            assert {text.partition(";")[0] for text in reasons(rows)} == {
                f"secret_missing: there is no {reference}"
            }
        assert not far.secrets or far.requests() == 0
        rig.secrets.values = kept(far)
        assert ends(send(rig)) == dict.fromkeys(ALL, "delivered")

    def test_no_secret_is_in_any_output(self, far: Far, rig: Rig, silent: Silent) -> None:
        lead(rig, far, "p2", port=nobody())
        lead(rig, far, "p3", port=silent.port, timeout_seconds=0.2)
        batch = [row(n, pipe=f"p{n}") for n in (1, 2, 3)]
        rows = rig.deliver(flat_batch(batch), deadline=DEADLINE)
        assert len(rows) == 5
        text = repr(rows)
        assert not [reference for reference, value in far.secrets.items() if value in text]

    def test_an_inner_address_is_not_dialled(self, far: Far, silent: Silent) -> None:
        can(far, "options")
        public = opened(far, EgressPolicy())
        try:
            lead(public, far, "p1", port=silent.port)
            rows = send(public)
        finally:
            public.close()
        assert ends(rows) == dict.fromkeys(ALL, "dead")
        assert all(text.startswith("refused_address: ") for text in reasons(rows))
        assert silent.connections == 0

    def test_closing_ends_its_threads(self, far: Far) -> None:
        before = set(threading.enumerate())
        rig = opened(far, REACH)
        try:
            send(rig)
        finally:
            rig.close()
        until = time.monotonic() + AMPLE
        while left := set(threading.enumerate()) - before:
            assert time.monotonic() < until, f"still there: {left}"
            time.sleep(0.02)


def opened(far: Far, egress: EgressPolicy) -> Rig:
    """A worker with a pipe `p1` to the far side, and its secrets."""
    rig = Rig(egress)
    rig.secrets.values = kept(far)
    lead(rig, far, "p1")
    return rig


def kept(far: Far) -> dict[str, str]:
    """The far side's secrets as owners store them: made from files, which end in a line break."""
    return {reference: f"{text}\r\n" for reference, text in far.secrets.items()}


def lead(rig: Rig, far: Far, name: str, port: int | None = None, **fields: object) -> None:
    """Add a pipe and a destination of that name."""
    rig.lead(name, far.connector, far.options(port), **fields)


def can(far: Far, ability: str) -> None:
    """Skip the test if this kind of destination cannot do that."""
    if ability in far.cannot:
        pytest.skip(far.cannot[ability])


def events(start: int, stop: int) -> list[dict[str, object]]:
    """Rows for pipe `p1`, by number."""
    return [row(number) for number in range(start, stop)]


def send(rig: Rig, deadline: float = DEADLINE) -> list[Row]:
    """Send ALL through `p1` as a first attempt."""
    rig.forget_deliveries()
    return rig.deliver(flat_batch(events(0, EVENTS)), deadline=deadline)


def ends(rows: Iterable[Row]) -> dict[str, str]:
    """The result of each event: exactly one receipt, and a record if the result needs one."""
    rows = list(rows)
    found = [(id_, receipt.result) for receipt in receipts(rows) for id_ in receipt.ids]
    assert len({id_ for id_, _ in found}) == len(found), "an event has two receipts"
    moved = Counter((dict(r.headers)["ce_id"] or b"").decode() for r in records(rows))
    assert moved == Counter(id_ for id_, result in found if result in ("retry", "dead"))
    return dict(found)


def reasons(rows: Iterable[Row]) -> list[str]:
    """The reason of each event that did not arrive."""
    return [(dict(r.headers)[h.REASON] or b"").decode() for r in records(list(rows))]
