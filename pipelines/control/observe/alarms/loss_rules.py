"""Alarm rules for lost and doubled events. Pure.

A card counts only proven losses as lost; events that are late or wait are `under_way` or `waiting` there.
"""

from collections.abc import Collection, Iterator, Sequence

from pipelines.control.observe.alarms.formatting import counted, listed, moment, percent
from pipelines.control.observe.alarms.history import History
from pipelines.control.observe.alarms.history_keys import loss_key
from pipelines.control.observe.alarms.inputs import Finding, Inputs
from pipelines.control.observe.alarms.rises import MinuteOf, since, wrongly_dead
from pipelines.control.observe.alarms.settings import AlarmSettings
from shared.contracts.alarms import AlarmKind
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import ALL_TENANTS, HopRow, MinuteCard


def tenants(inputs: Inputs) -> Iterator[tuple[str, Sequence[MinuteCard]]]:
    """Each tenant's cards, without the sum over all tenants, which would count everything twice."""
    return ((tenant, cards) for tenant, cards in inputs.cards.items() if tenant != ALL_TENANTS)


def _counted(
    inputs: Inputs, cards: Sequence[MinuteCard], minutes: int, late: Collection[int]
) -> list[MinuteCard]:
    """The cards of the last `minutes` whole minutes, and the earlier ones that are named."""
    now = inputs.at_ms // MINUTE_MS
    return [card for card in cards if now - minutes <= card.minute <= now or card.minute in late]


def _of(tenant: str, minutes: Collection[MinuteOf]) -> Collection[int]:
    """The tenant's own of some minutes."""
    return {minute for owner, minute in minutes if owner == tenant}


def _span(inputs: Inputs, counted_cards: Sequence[MinuteCard], minutes: int) -> str:
    """The minutes that were counted, in words."""
    oldest = inputs.at_ms // MINUTE_MS - minutes
    earlier = sum(card.minute < oldest for card in counted_cards)
    found = f" and {counted(earlier, 'earlier one')}" if earlier else ""
    return f"in the last {minutes} minutes{found}"


def proven(inputs: Inputs, history: History, settings: AlarmSettings) -> Iterator[Finding]:
    """Losses found within the last `alarm_open_minutes`, by tenant and hop."""
    oldest = inputs.at_ms - settings.alarm_open_minutes * MINUTE_MS
    for tenant, cards in tenants(inputs):
        hops: dict[str, list[tuple[MinuteCard, HopRow]]] = {}
        for card in cards:
            for row in card.hops if card.lost else ():
                known = history.losses.get(loss_key(card, row))
                if row.lost and known is not None and known.since_ms > oldest:
                    hops.setdefault(_hop(row), []).append((card, row))
        for hop, found in hops.items():
            yield Finding(kind=AlarmKind.LOSS, tenant=tenant, subject=hop, text=_text(hop, found))


def _hop(row: HopRow) -> str:
    return f"{row.node}/{row.pipe}" if row.pipe else str(row.node)


def _text(hop: str, found: list[tuple[MinuteCard, HopRow]]) -> str:
    """The newest minute in detail, and the sum if there are several."""
    card, row = found[-1]
    lost = sum(each.lost for _, each in found)
    text = (
        f"{counted(row.lost, 'event')} of {row.taken:,} lost at {hop} in minute {moment(card.minute)}, "
        f"{percent(row.lost / max(row.taken, row.lost))}"
    )
    ids = [each.id or f"hash {each.hash}" for each in row.named if each.times > 0]
    if ids:
        text += f"; ids: {listed(ids)}"
    if row.look_at:
        text += f"; look at {listed(row.look_at, 1)}"
    if len(found) > 1:
        text += f"; {counted(lost, 'event')} in {counted(len(found), 'minute')} altogether"
    return text


def rate(inputs: Inputs, history: History, settings: AlarmSettings) -> Iterator[Finding]:
    """Lost events, and dead letters caused by hifi, above the threshold.

    Dead letters count when they are found, however old their minute is; `proven` does that for losses.
    """
    dead = wrongly_dead(inputs)
    late = since(history.dead, inputs.at_ms - settings.alarm_loss_minutes * MINUTE_MS)
    for tenant, cards in tenants(inputs):
        recent = _counted(inputs, cards, settings.alarm_loss_minutes, _of(tenant, late))
        total = sum(card.total for card in recent)
        lost = sum(card.lost for card in recent)
        wrong = sum(dead.get((tenant, card.minute), 0) for card in recent)
        if total and (lost + wrong) / total > settings.alarm_loss_share:
            text = (
                f"{percent((lost + wrong) / total)} of {counted(total, 'owed delivery', 'owed deliveries')} "
                f"failed {_span(inputs, recent, settings.alarm_loss_minutes)}: "
                f"{counted(lost, 'event')} lost, {wrong:,} dead letters caused by hifi; "
                f"the threshold is {percent(settings.alarm_loss_share)}"
            )
            yield Finding(kind=AlarmKind.LOSS_RATE, tenant=tenant, subject="deliveries", text=text)


def doubled(inputs: Inputs, history: History, settings: AlarmSettings) -> Iterator[Finding]:
    """More doubled events than a crash explains."""
    late = since(history.doubled, inputs.at_ms - settings.alarm_doubled_minutes * MINUTE_MS)
    for tenant, cards in tenants(inputs):
        recent = _counted(inputs, cards, settings.alarm_doubled_minutes, _of(tenant, late))
        total, twice = sum(card.total for card in recent), sum(card.doubled for card in recent)
        if twice and twice > total * settings.alarm_doubled_share:
            hops = {_hop(row): row.doubled for card in recent for row in card.hops if row.doubled}
            where = f" at {listed(sorted(hops))}" if hops else ""
            text = (
                f"{counted(twice, 'event')} doubled{where} "
                f"{_span(inputs, recent, settings.alarm_doubled_minutes)}, "
                f"{percent(twice / max(total, twice))} of {total:,} owed; the threshold is "
                f"{percent(settings.alarm_doubled_share)}"
            )
            yield Finding(kind=AlarmKind.DOUBLED, tenant=tenant, subject="deliveries", text=text)
