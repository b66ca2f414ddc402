"""The outcome of each event, from its part of a bulk response."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from pipelines.control.observe.ledger.fault_attribution import customer_remedy, is_customer_fault
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.elasticsearch import answers
from pipelines.data.transmit.connectors.http.client import HttpResponse
from pipelines.data.transmit.delivery.decide import Dead, Delivered, Outcome, Policy, Situation, decide
from pipelines.data.transmit.events import Event
from tests.unit.pipelines.data.transmit.transmit_events import event

CONFLICT = "version_conflict_engine_exception"
POLICY = Policy(local_tries=3, pause=0.1, pause_limit=1.0, give_up=timedelta(hours=24))


def bulk_response(operation: str, *items: tuple[int, str]) -> HttpResponse:
    found = [
        {operation: {"status": status} | ({"error": {"type": error}} if error else {})}
        for status, error in items
    ]
    return HttpResponse(200, {}, msgspec.json.encode({"items": found}))


def outcome(answer: Answer, attempt: int = 1) -> Outcome:
    at = Situation(events=1, tries=1, attempt=attempt, first_try_ms=0, now_ms=1, seconds_left=9.0)
    return decide(answer, at, POLICY, 0.5)


def conflict(operation: str, of: Event, error: str = CONFLICT) -> Answer:
    (answer,) = answers(bulk_response(operation, (409, error)), [of], operation)
    return answer


@pytest.mark.parametrize("of", [event(1), event(1, attempt=3, first_try=5)], ids=["first delivery", "retry"])
def test_a_document_that_create_finds_is_the_same_delivery_and_settled(of: Event) -> None:
    assert outcome(conflict("create", of), of.attempt) == Delivered()


def test_create_in_a_replay_is_a_dead_letter_because_the_earlier_document_was_kept() -> None:
    ended = outcome(conflict("create", event(1, replay="r1")))
    assert isinstance(ended, Dead)
    assert ended.reason.startswith("exists: ")


@pytest.mark.parametrize("replay", [None, "r1"])
def test_a_conflict_of_index_delivered_nothing(replay: str | None) -> None:
    ended = outcome(conflict("index", event(1, replay=replay)))
    assert ended == Dead(f"refused: the destination answered 409 ({CONFLICT})")


def test_another_conflict_of_create_does_not_show_that_the_document_is_there() -> None:
    ended = outcome(conflict("create", event(1), "illegal_state_exception"))
    assert ended == Dead("refused: the destination answered 409 (illegal_state_exception)")


def test_each_event_of_a_request_has_its_own_answer() -> None:
    some: Sequence[Event] = [event(1), event(2), event(3, replay="r1"), event(4, replay="r1")]
    items = ((201, ""), (409, CONFLICT), (409, CONFLICT), (429, "es_rejected_execution_exception"))
    found = answers(bulk_response("create", *items), some, "create")
    assert [each.status for each in found] == [201, 200, None, 429]
    assert [each.hopeless for each in found] == [False, False, True, False]


def test_the_customer_is_told_why_a_replay_did_not_replace_a_document() -> None:
    assert is_customer_fault("- exists")
    remedy = customer_remedy("- exists")
    assert remedy is not None
    assert "`index`" in remedy.fix
