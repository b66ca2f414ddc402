"""The resolver answers every plan, whatever happens while it reads."""

import pytest

from pipelines.control.observe.ledger.minute_sums import MinuteKey
from pipelines.control.observe.verdicts.event_identification import Identified, OffsetSpan, ReadPlan
from pipelines.control.observe.verdicts.event_resolver import EventResolver, Resolution
from tests.harness.waiting import eventually

NO_OFFSET = 2**70
"""More than librdkafka can take: reading it fails with an error that is not Kafka's."""


def plan(key: MinuteKey, *spans: OffsetSpan) -> ReadPlan:
    return ReadPlan(tenant=key[0], minute=key[1], wanted={}, recounted=frozenset(), spans=spans)


def answers(resolver: EventResolver, plans: int) -> list[Resolution]:
    """The answers to a number of plans."""
    found: list[Resolution] = []

    def complete() -> bool:
        found.extend(resolver.answers())
        return len(found) == plans

    eventually(complete, 60, "a plan has no answer")
    return found


def test_an_error_that_was_not_expected_is_answered_and_ends_no_other_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipelines.control.observe.verdicts.event_resolver._ANSWER_SECONDS", 0.1)
    resolver = EventResolver("127.0.0.1:1", "test", most=10).start()
    try:
        resolver.ask(("acme", 1), plan(("acme", 1), OffsetSpan("events", 0, NO_OFFSET, NO_OFFSET + 1)))
        resolver.ask(("acme", 2), plan(("acme", 2)))
        assert answers(resolver, 2) == [(("acme", 1), None), (("acme", 2), Identified())]
    finally:
        resolver.stop()
