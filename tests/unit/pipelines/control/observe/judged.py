"""Derives cards directly from a simulated chain."""

from collections.abc import Iterable, Mapping

from pipelines.control.observe.scorecards.ledger_state import LedgerState
from pipelines.control.observe.scorecards.minute_cards import JudgedMinute, minute_card
from pipelines.control.observe.verdicts.event_identification import Identified, combined, find, read_plan
from pipelines.control.observe.verdicts.verdicts import ReadProgress, judge
from shared.contracts.ledger import Range, decode_range, encode_range
from shared.contracts.scorecard import HopRow, MinuteCard
from tests.unit.pipelines.control.observe.world import LATER, MINUTE, MINUTE_START, SETTLE, TENANT, World


def applied(
    ranges: Iterable[Range],
    book: LedgerState | None = None,
    start: int = 0,
    now_ms: int = MINUTE_START + 60_000,
) -> LedgerState:
    """Ledger state with these ranges, from `start` on."""
    book = LedgerState() if book is None else book
    for offset, found in enumerate(ranges, start):
        book.apply(decode_range(encode_range(found)), offset, now_ms)
    return book


def settled(
    book: LedgerState,
    world: World,
    passed: ReadProgress | None = None,
    now_ms: int = LATER,
    read: bool = True,
) -> JudgedMinute:
    """The verdict on the world's minute, after further reads if the verdict needs them."""
    state, passed = book.minutes[TENANT, MINUTE], passed or world.passed()
    found = Identified()
    judgement = judge(state, passed, now_ms, SETTLE)
    for _ in range(2):
        asked = read_plan(state, judgement)
        if asked is None or not read:
            break
        read_now = find(asked, (seen for span in asked.spans for seen in world.seen_in(span)))
        found = combined(found, read_now)
        judgement = judge(state, passed, now_ms, SETTLE, found.counts)
    return JudgedMinute(state, judgement, found.named)


def card_of(world: World, passed: ReadProgress | None = None, now_ms: int = LATER) -> MinuteCard:
    """The card of the world's minute, settled unless `passed` or `now_ms` say otherwise."""
    return minute_card(*settled(applied(world.ranges()), world, passed, now_ms))


def wrong(card: MinuteCard) -> Mapping[tuple[str, str], tuple[int, int]]:
    """Lost and doubled counts by node and pipe, where there are any."""
    return {(r.node.value, r.pipe): (r.lost, r.doubled) for r in card.hops if r.lost or r.doubled}


def hop(card: MinuteCard, node: str, pipe: str = "") -> HopRow:
    """A row of the loss table."""
    return next(row for row in card.hops if (row.node, row.pipe) == (node, pipe))


def ids(row: HopRow, sign: int) -> set[str]:
    """Lost (1) or doubled (-1) ids of a row."""
    return {event.id for event in row.named if event.times * sign > 0}
