"""The meter under known losses names exactly the ids, at their hop, in their minute."""

import random
import time
from pathlib import Path

import pytest

from shared.contracts.alarms import Alarm, AlarmKind
from shared.contracts.scorecard import HopRow, MinuteCard, Node
from tests.harness.meter_processes import Meter, MeterProcesses, shown
from tests.harness.waiting import eventually
from tests.truth.written_chain import (
    FURTHER_EVERY,
    UNMATCHED_EVERY,
    Fault,
    Made,
    WrittenChain,
    made,
)

pytestmark = pytest.mark.timeout(1_200)

SEED = 20_261_122
FEW = 5_000
EVENTS = [FEW, pytest.param(100_000, marks=pytest.mark.proof)]
CLEAN, CLEAN_EVENTS, CLEAN_SETTLE_SECONDS = "clean", 1_000_000, 180
"""A tenant without losses; at full size, with hifi's own settle time."""

PART = 5_000
CASES = {
    "ingest-30": (Node.INGEST, 30),
    "ingest-300": (Node.INGEST, 300),
    "route-1": (Node.ROUTE, 1),
    "route-100": (Node.ROUTE, 100),
    "transmit-30": (Node.TRANSMIT, 30),
    "transmit-300": (Node.TRANSMIT, 300),
}
NAMED_UP_TO = 100
MOST_NAMED = 2 * NAMED_UP_TO
JUDGED_SECONDS = 420


def minute_before() -> int:
    """The start of the last completed minute, epoch milliseconds: no test waits for its end."""
    return int(time.time() * 1_000) // 60_000 * 60_000 - 60_000


def fault(events: list[Made], node: Node, count: int, seed: int) -> Fault:
    """Lose `count` events that pipes take, and double `count` others."""
    chosen = random.Random(seed).sample([event.id for event in events if event.matched], 2 * count)
    return Fault(node, frozenset(chosen[:count]), frozenset(chosen[count:]))


def judged(meter: Meter, tenant: str, minute: int) -> MinuteCard:
    """The minute's card, once it is settled without events under way."""

    def settled() -> MinuteCard | None:
        card = meter.minute(tenant, minute)
        return card if card.collected and card.settled and not card.under_way else None

    card = eventually(settled, JUDGED_SECONDS, f"{tenant} is judged", 0.5)
    assert isinstance(card, MinuteCard)
    return card


def found_out(meter: Meter, tenant: str, minute: int) -> MinuteCard:
    """The card once the errors were found in the topics: counts for many, otherwise ids by place."""

    def named() -> MinuteCard | None:
        card = judged(meter, tenant, minute)
        found = [event for row in card.hops for event in row.named]
        wrong = sum(row.lost + row.doubled for row in card.hops)
        complete = wrong and len(found) == min(wrong, MOST_NAMED)
        return card if complete and all(event.topic for event in found) else None

    card = eventually(named, JUDGED_SECONDS, f"what {tenant} lost is named", 0.5)
    assert isinstance(card, MinuteCard)
    return card


def faulty(card: MinuteCard) -> list[HopRow]:
    return [row for row in card.hops if row.lost or row.doubled or row.named or row.unnamed]


@pytest.mark.parametrize("count", EVENTS)
def test_exactly_the_lost_and_the_doubled_are_named_at_their_hop_though_audit_is_killed(
    topics: str, own_tables: str, tmp_path: Path, count: int
) -> None:
    """Six faulty tenants and a clean one in one minute; audit is killed and reads many events twice."""
    chain, at_ms = WrittenChain(topics), minute_before()
    meters = MeterProcesses(topics, tmp_path, own_tables, settle_seconds=5 if count == FEW else 15)
    events = {tenant: made(tenant, count, at_ms) for tenant in (CLEAN, *CASES)}
    faults = {
        tenant: fault(events[tenant], node, wrong, SEED + at)
        for at, (tenant, (node, wrong)) in enumerate(CASES.items())
    }
    with meters.running() as meter:
        for at, tenant in enumerate((CLEAN, *CASES)):
            chain.write(events[tenant], faults.get(tenant, Fault()))
            if at == 1:
                eventually(lambda: some(meter, at_ms), JUDGED_SECONDS, "audit has begun", 0.2)
            if at == 1 or (at == 4 and count > FEW):
                meters.audit.kill()
                meters.audit.start()  # the next tenants' events arrive during its start
        chain.commit()
        try:
            for tenant, (node, wrong) in CASES.items():
                card = found_out(meter, tenant, at_ms // 60_000)
                assert card.collected == count, shown(card)
                check(card, node, wrong, faults[tenant])
            eventually(lambda: lossy(meter) == set(CASES), 180, "an alarm for each tenant", 0.5)
            kinds = {alarm.kind for alarm in meter.alarms() if alarm.tenant in CASES}
            assert kinds <= {AlarmKind.LOSS, AlarmKind.LOSS_RATE, AlarmKind.DOUBLED}, shown(meter.alarms())
            check_clean(judged(meter, CLEAN, at_ms // 60_000), count)
            assert not [alarm for alarm in proven(meter) if alarm.tenant == CLEAN], shown(meter.alarms())
        except AssertionError as error:
            raise AssertionError(f"{error}\n{meters.tails()}") from error


def some(meter: Meter, at_ms: int) -> bool:
    cards = meter.minutes("*", at_ms // 60_000, at_ms // 60_000)
    return bool(cards and cards[0].collected)


def lossy(meter: Meter) -> set[str]:
    return {alarm.tenant for alarm in meter.alarms() if alarm.kind == AlarmKind.LOSS}


def check(card: MinuteCard, node: Node, count: int, wrong: Fault) -> None:
    """Check counts for any number of events, and ids up to NAMED_UP_TO.

    transmit recognises the doubles of ingest and route: it sends only its own twice.
    """
    sent_twice = count if node is Node.TRANSMIT else 0
    assert (card.lost, card.doubled, card.under_way) == (count, sent_twice, 0), shown(card)
    rows = faulty(card)
    assert {row.node for row in rows} == {node}, shown(rows)
    assert (sum(row.lost for row in rows), sum(row.doubled for row in rows)) == (count, count)
    if count <= NAMED_UP_TO:
        named = {event.id: event.times for row in rows for event in row.named}
        assert named == dict.fromkeys(wrong.lost, 1) | dict.fromkeys(wrong.doubled, -1)
        assert all(event.topic and event.offset >= 0 for row in rows for event in row.named)
    assert card.spent
    assert card.why


def proven(meter: Meter) -> list[Alarm]:
    """Alarms about lost, doubled or dead events."""
    kinds = {AlarmKind.LOSS, AlarmKind.LOSS_RATE, AlarmKind.DOUBLED, AlarmKind.BURN}
    return [alarm for alarm in meter.alarms() if alarm.kind in kinds]


def check_clean(card: MinuteCard, count: int) -> None:
    """Check that every event is delivered to each of its pipes."""
    assert card.collected == count, shown(card)
    matched = sum(1 for number in range(count) if number % UNMATCHED_EVERY)
    twice = sum(1 for number in range(0, count, FURTHER_EVERY) if number % UNMATCHED_EVERY)
    assert card.total == card.delivered == matched + twice, shown(card)
    assert (card.lost, card.doubled, card.under_way) == (0, 0, 0), shown(card)
    assert not faulty(card)


@pytest.mark.proof
def test_a_million_clean_events_raise_no_alarm(topics: str, own_tables: str, tmp_path: Path) -> None:
    chain, at_ms = WrittenChain(topics), minute_before()
    meters = MeterProcesses(topics, tmp_path, own_tables, settle_seconds=CLEAN_SETTLE_SECONDS)
    with meters.running() as meter:
        for first in range(0, CLEAN_EVENTS, PART):
            chain.write(made(CLEAN, PART, at_ms, first), Fault())
            chain.commit()
        try:
            check_clean(judged(meter, CLEAN, at_ms // 60_000), CLEAN_EVENTS)
            assert not proven(meter), shown(meter.alarms())
        except AssertionError as error:
            raise AssertionError(f"{error}\n{meters.tails()}") from error


@pytest.mark.proof
def test_an_event_that_waits_an_hour_for_its_retry_is_waiting_then_late_and_never_lost(
    topics: str, own_tables: str, tmp_path: Path
) -> None:
    chain, now_ms, tenant = WrittenChain(topics), int(time.time() * 1_000), "waits"
    (event,) = made(tenant, 1, now_ms - 65 * 60_000, first=1)
    meters = MeterProcesses(topics, tmp_path, own_tables, settle_seconds=5)
    with meters.running() as meter:
        chain.write_waiting(event, now_ms - 4 * 60_000)
        chain.commit()
        card = judged(meter, tenant, event.minute)
        assert (card.total, card.waiting, card.delivered, card.lost) == (1, 1, 0, 0), shown(card)
        chain.write_retried(event, now_ms)
        chain.commit()
        eventually(lambda: meter.minute(tenant, event.minute).delivered, 120, "the card is corrected", 1.0)
        card = judged(meter, tenant, event.minute)
        assert (card.total, card.waiting, card.delivered, card.good) == (1, 0, 1, 0), shown(card)
        assert (card.lost, card.doubled, card.late) == (0, 0, 0), shown(card)
        assert card.spent, "it did not leave within a second"
        wrong = [alarm for alarm in meter.alarms() if alarm.kind in (AlarmKind.LOSS, AlarmKind.DOUBLED)]
        assert not wrong, shown(wrong)
