"""Scorecards of minutes, from states and judgements, with the reasons why a minute is spent. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import structs

from pipelines.control.observe.ledger.fault_attribution import failed_at_destination, is_customer_fault
from pipelines.control.observe.ledger.minute_sums import Lags, MinuteState, merged_lags
from pipelines.control.observe.ledger.reconciliation_rules import Key, Reconciliation
from pipelines.control.observe.scorecards.loss_table import (
    NO_NAMES,
    Names,
    dead,
    hop_rows,
    merged_rows,
    percent,
)
from pipelines.control.observe.scorecards.node_lags import end_to_end, inside, node_lags
from pipelines.control.observe.verdicts.verdicts import Judgement, Verdict
from shared.contracts.counts import GOOD_SHARE, Counts, summed
from shared.contracts.cut import cut_short, raised_short
from shared.contracts.ledger import GOOD_MS, Stage
from shared.contracts.scorecard import ALL_TENANTS, HopRow, MinuteCard

_EVEN: Final = Verdict()
_BEFORE_PIPES: Final = (Reconciliation.INGEST, Reconciliation.ROUTE)
_BEFORE_TRANSMIT: Final = (Reconciliation.INGEST, Reconciliation.ROUTE, Reconciliation.CLAIMS)
_AGAIN: Final = (
    Reconciliation.CLAIMS,
    Reconciliation.TRANSMIT,
    Reconciliation.RETRYING,
    Reconciliation.RETRY,
)
_LATER: Final = (Reconciliation.RETRYING, Reconciliation.RETRY)
_UNPROVABLE: Final = (
    "Records from this time expired before the meter counted them: what is missing here may have been "
    "delivered, so it is not called lost, and what is extra is not called doubled."
)
_DEATHS: Final[Mapping[Stage, int]] = {Stage.DEAD: 1, Stage.DEAD_LETTER: -1}
"""Stages with reasons of all deaths, and of further deaths of the same event (`Tally.reasons`)."""


class JudgedMinute(NamedTuple):
    """A tenant's minute with its judgement and the names of its events."""

    state: MinuteState
    judgement: Judgement
    names: Names = NO_NAMES


class _Whole(NamedTuple):
    """The parts of a card, of one tenant or of all."""

    tenant: str
    minute: int
    settled: bool
    unprovable: bool
    counts: Counts
    lags: Lags
    rows: list[HopRow]


def minute_card(state: MinuteState, judgement: Judgement, names: Names = NO_NAMES) -> MinuteCard:
    """The card of one tenant's minute. Events without a known id are shown by hash."""
    rows = hop_rows(state, judgement, names)
    counts = _counts(state, judgement)
    whole = _Whole(
        tenant=state.tenant,
        minute=state.minute,
        settled=judgement.settled,
        unprovable=judgement.unprovable,
        counts=counts,
        lags=state.lags,
        rows=rows,
    )
    return _card(whole)


def total_card(minute: int, parts: Iterable[JudgedMinute]) -> MinuteCard:
    """The card of ALL_TENANTS."""
    held = list(parts)
    if not held:
        return empty_card(ALL_TENANTS, minute)
    whole = _Whole(
        tenant=ALL_TENANTS,
        minute=minute,
        settled=all(part.judgement.settled for part in held),
        unprovable=any(part.judgement.unprovable for part in held),
        counts=summed([_counts(part.state, part.judgement) for part in held]),
        lags=merged_lags(part.state.lags for part in held),
        rows=merged_rows(row for part in held for row in _rows_of(part)),
    )
    return _card(whole)


def _rows_of(part: JudgedMinute) -> Iterator[HopRow]:
    """A tenant's rows for the card of ALL_TENANTS: those of pipes name their tenant."""
    for row in hop_rows(*part):
        yield structs.replace(row, tenant=part.state.tenant) if row.pipe else row


def empty_card(tenant: str, minute: int) -> MinuteCard:
    """The card of a minute without events: nothing was owed, so it is not spent."""
    return MinuteCard(tenant=tenant, minute=minute, settled=True)


def _card(whole: _Whole) -> MinuteCard:
    counts = whole.counts
    spent = whole.settled and counts.broken
    card = MinuteCard(
        tenant=whole.tenant,
        minute=whole.minute,
        settled=whole.settled,
        loss_percent=percent(counts.lost, counts.total),
        sli=counts.good_share,
        spent=spent,
        inside=inside(whole.lags),
        end_to_end=end_to_end(whole.lags),
        nodes=node_lags(whole.lags),
        hops=whole.rows,
    )
    card = structs.replace(card, **counts.by_name())
    reasons = [*(why(card) if spent else ()), *([_UNPROVABLE] if whole.unprovable else ())]
    return structs.replace(card, why=reasons)


def _counts(state: MinuteState, judgement: Judgement) -> Counts:
    first = _of_a_pass(state, judgement)
    if state.replay is None or judgement.replay is None:
        return first
    return with_replay(first, _of_a_pass(state.replay, judgement.replay), whole=state.replayed_whole)


def with_replay(first: Counts, second: Counts, *, whole: bool) -> Counts:
    """Counts of a minute of which events were processed again.

    If all of them were, the second pass says what became of them: what the first one lost or could not
    deliver is delivered late. Until then a loss of the first pass stays one. No delivery of a second pass is
    in time.

    Args:
        first: of the first pass.
        second: of the second one.
        whole: whether all events of the minute were processed again.
    """
    both = summed((first, second))
    known = second if whole else first
    ends = second if whole else both
    return structs.replace(
        first,
        total=known.total,
        unmatched=known.unmatched,
        delivered=known.delivered,
        customer_dead=known.customer_dead,
        hifi_dead=known.hifi_dead,
        in_time=0 if whole else first.in_time,
        doubled=both.doubled,
        again=both.again,
        quarantined=both.quarantined,
        dead=ends.dead,
        held_up=known.held_up,
        waiting=ends.waiting,
        under_way=ends.under_way,
        lost=ends.lost,
        replayed=second.delivered,
    )


def _of_a_pass(state: MinuteState, judgement: Judgement) -> Counts:
    verdicts = judgement.verdicts
    under_way = sum(verdict.under_way for verdict in verdicts.values())
    again = _doubled(judgement, _AGAIN) + _doubled_before_pipes(state, judgement)
    return Counts(
        collected=state.count(Stage.COLLECTED),
        late=sum(line.late for line in state.of((Stage.COLLECTED,))),
        unmatched=state.count(Stage.UNMATCHED),
        total=owed(state, judgement),
        good=sum(line.good for line in state.of((Stage.DELIVERED,))),
        delivered=state.count(Stage.DELIVERED),
        dead=dead(state),
        customer_dead=_first_deaths(state, is_customer_fault),
        hifi_dead=_first_deaths(state, lambda reason: not is_customer_fault(reason)),
        held_up=_held_up(state),
        waiting=sum(verdict.waiting for verdict in verdicts.values()),
        under_way=under_way,
        lost=sum(verdict.lost for verdict in verdicts.values()),
        doubled=sum(verdict.doubled for verdict in verdicts.values()),
        quarantined=state.count(Stage.QUARANTINED),
        in_time=under_way if judgement.fresh else 0,
        again=again,
    )


def _first_deaths(state: MinuteState, counts: Callable[[str], bool]) -> int:
    """Events that died for such a reason. One that was replayed and died again counts once, by its first
    death, as it is owed once. Further deaths that are tallied before the first ones make none negative."""
    deaths: Counter[str] = Counter()
    for (stage, pipe, _), line in state.lines.items():
        if stage in _DEATHS:
            deaths[pipe] += _DEATHS[stage] * sum(n for reason, n in line.reasons.items() if counts(reason))
    return sum(max(0, count) for count in deaths.values())


def _held_up(state: MinuteState) -> int:
    """Failed tries, for each pipe at most its events that are not good: an event may fail several times."""
    failed: Counter[str] = Counter()
    for (stage, pipe, _), line in state.lines.items():
        if stage is Stage.RETRYING:
            failed[pipe] += sum(n for reason, n in line.reasons.items() if failed_at_destination(reason))
    return sum(min(tries, _not_good(state, pipe)) for pipe, tries in failed.items())


def _not_good(state: MinuteState, pipe: str) -> int:
    copies = state.count(Stage.FIRST, pipe) + state.count(Stage.FURTHER, pipe)
    good = sum(line.good for line in state.of((Stage.DELIVERED,), pipe))
    return max(0, copies - good - dead(state, pipe))


def owed(state: MinuteState, judgement: Judgement) -> int:
    """Deliveries owed: distinct copies that route made, and one per event that did not get that far."""
    copies = state.count(Stage.FIRST) + state.count(Stage.FURTHER)
    known = judgement.verdicts.items()
    missing = sum(each.lost + each.under_way for key, each in known if key.reconciliation in _BEFORE_TRANSMIT)
    pipes = [key for key, _ in known if key.reconciliation is Reconciliation.TRANSMIT]
    dropped = sum(_route_dropped(state, judgement, key) for key in pipes)
    doubled = _doubled(judgement, (Reconciliation.CLAIMS,)) + _doubled_before_pipes(state, judgement)
    return max(0, copies + missing - dropped - doubled)


def _route_dropped(state: MinuteState, judgement: Judgement, key: Key) -> int:
    """Second copies of a pipe that transmit dropped, except those made by retry or a replay."""
    letters = max(0, state.count(Stage.LETTER, key.pipe) - state.count(Stage.DEAD, key.pipe))
    later = [judgement.verdicts.get(Key(reconciliation, key.pipe), _EVEN) for reconciliation in _LATER]
    return max(0, judgement.verdicts[key].dropped - letters - sum(verdict.extra for verdict in later))


def _doubled_before_pipes(state: MinuteState, judgement: Judgement) -> int:
    """Second copies that were sent of events that ingest or route doubled.

    Until they are counted by pipe, each event that route doubled counts once. If some were unmatched too, the
    number is unknown (0): a second record in `unmatched` is no delivery, and a crash may leave many.
    """
    found = {
        key.reconciliation: each
        for key, each in judgement.verdicts.items()
        if key.reconciliation in _BEFORE_PIPES
    }
    known = sum(each.doubled for each in found.values() if each.by_pipe)
    route = found.get(Reconciliation.ROUTE, _EVEN)
    return known if route.by_pipe or state.count(Stage.UNMATCHED) else known + route.doubled


def _doubled(judgement: Judgement, reconciliations: Iterable[Reconciliation]) -> int:
    wanted = frozenset(reconciliations)
    return sum(each.doubled for key, each in judgement.verdicts.items() if key.reconciliation in wanted)


def why(card: MinuteCard) -> list[str]:
    """The reasons of a spent minute."""
    found = [_lost(card)] if card.lost else []
    if card.sli is not None and card.sli < GOOD_SHARE:
        found.append(_slow(card))
    return found


def _lost(card: MinuteCard) -> str:
    hops = ", ".join(
        f"{row.lost:,} at {row.node}{f' ({row.full_pipe})' if row.pipe else ''}"
        for row in card.hops
        if row.lost
    )
    return (
        f"{card.lost:,} of {card.total:,} deliveries lost ({raised_short(card.loss_percent, 3)} %): {hops}."
    )


def _slow(card: MinuteCard) -> str:
    counts = (
        (card.waiting, "waiting to be retried"),
        (card.dead, "dead letters"),
        (card.under_way, "under way"),
        (card.lost, "lost"),
    )
    others = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return (
        f"{cut_short(100 * (card.sli or 0.0), 3)} % of {card.total:,} deliveries left hifi within "
        f"{GOOD_MS / 1000:g} s of entering it, {100 * GOOD_SHARE:g} % are promised"
        + (f"; {others}." if others else ".")
    )
