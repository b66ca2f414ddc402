"""The state of affairs, and what alarms judge by, from what is held. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import Final

from msgspec import Struct

from pipelines.control.observe.alarms.inputs import DeadLetters, SourceMinutes
from pipelines.control.observe.scorecards.day_state import Cards, DayKey
from pipelines.control.observe.scorecards.minute_cards import JudgedMinute
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.documents import TenantName
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import ALL_TENANTS, DayCard, MinuteCard, Now, Percentiles
from shared.contracts.skew import FieldSkew
from shared.contracts.timestamps import day_of

_MINUTE_SECONDS: Final = 60
_RECENT_MINUTES: Final = 15
_SOURCE_MINUTES: Final = 25 * 60
"""How long it is remembered when a source sent."""


class Snapshot(Struct, kw_only=True, frozen=True):
    """The data that requests are answered from. Replaced at each look, never changed."""

    at_ms: int = 0
    """When it was taken, epoch milliseconds; 0 before the first look."""

    cards: Mapping[DayKey, Cards] = {}
    days: Mapping[DayKey, DayCard] = {}
    tenants: Sequence[str] = ()
    destinations: Sequence[DestinationHealth] = ()
    read_to_ms: int = 0
    behind_seconds: float = 0.0
    behind: bool = False
    open_minutes: int = 0
    ledger_offset: int = 0
    waiting: Mapping[TenantName, int] = {}
    """Events that wait for their next try, by tenant and pipe."""

    skews: Sequence[FieldSkew] | None = None
    """None while they were not compared yet."""

    unread: Mapping[str, int] = {}
    """Records before each node of the chain, by its group's name; empty until the brokers were asked."""

    overdue: Mapping[str, float] = {}
    """Seconds since the first record of a retry topic was due, by topic; empty until then."""

    def card(self, tenant: str, minute: int) -> MinuteCard | None:
        """A minute's card, where it is held."""
        return self.cards.get((tenant, day_of(minute)), {}).get(minute)

    def day(self, tenant: str) -> DayCard | None:
        """Today's card."""
        return self.days.get((tenant, day_of(self.at_ms // MINUTE_MS)))

    def last_settled(self, tenant: str) -> MinuteCard | None:
        """The last minute that is settled and was owed anything: of today, or else of yesterday.

        Without yesterday's, there would be none at midnight until today's first minute settles.
        """
        today = day_of(self.at_ms // MINUTE_MS)
        for day in (today, today - timedelta(days=1)):
            cards = self.cards.get((tenant, day), {}).values()
            settled = (card for card in cards if card.settled and card.sli is not None)
            if last := max(settled, key=attrgetter("minute"), default=None):
                return last
        return None

    def judged(self, tenant: str, count: int) -> list[MinuteCard]:
        """The last settled minutes with events, newest first: as many, of the last quarter of an hour."""
        last = self.whole_minute
        cards = (self.card(tenant, minute) for minute in range(last, last - _RECENT_MINUTES, -1))
        return [card for card in cards if card is not None and card.settled][:count]

    def held(self, tenant: str, since: int) -> list[MinuteCard]:
        """The cards that are held of a tenant's minutes from `since` (epoch minute) on, in any order."""
        cards = (held for (name, _), held in self.cards.items() if name == tenant)
        return [card for held in cards for minute, card in held.items() if minute >= since]

    @property
    def whole_minute(self) -> int:
        """The last minute that audit has read to its end."""
        return self.read_to_ms // MINUTE_MS - 1


def rate(found: Snapshot, tenant: str) -> float:
    """Events a second that came in over the last whole minute; 0 if there is no such minute."""
    card = found.card(tenant, found.whole_minute)
    return card.collected / _MINUTE_SECONDS if card else 0.0


def now(found: Snapshot, day: DayCard, open_alarms: int) -> Now:
    """The state of affairs of the tenant, or of all, that today's card `day` is of."""
    card = found.card(day.tenant, found.whole_minute)
    return Now(
        tenant=day.tenant,
        at_ms=found.at_ms,
        rate=rate(found, day.tenant),
        end_to_end=card.end_to_end if card else Percentiles(),
        inside=card.inside if card else Percentiles(),
        loss_percent=day.loss_percent,
        nines=day.nines,
        behind_seconds=found.behind_seconds,
        behind=found.behind,
        open_alarms=open_alarms,
    )


def recent_cards(
    found: Snapshot, minutes: int, also: Iterable[int] = ()
) -> Mapping[str, Sequence[MinuteCard]]:
    """Each tenant's cards of the last minutes and of the older ones in `also`, oldest first.

    Tenants without such cards are left out: it iterates over the cards held, as most tenants have few.
    """
    now_minute = found.at_ms // MINUTE_MS
    first, last = now_minute - minutes + 1, now_minute + 1  # a client's clock may be ahead
    older, tenants = frozenset(also), {*found.tenants, ALL_TENANTS}
    recent: dict[str, list[MinuteCard]] = defaultdict(list)
    for (tenant, _), cards in found.cards.items():
        if tenant in tenants:
            recent[tenant] += [card for at, card in cards.items() if first <= at <= last or at in older]
    return {tenant: sorted(cards, key=_minute) for tenant, cards in recent.items() if cards}


_minute: Final = attrgetter("minute")


def dead_letters(parts: Iterable[JudgedMinute]) -> Iterator[DeadLetters]:
    """Dead letters by minute and tenant, counted by reason."""
    for state, *_ in parts:
        reasons: dict[str, int] = defaultdict(int)
        for line in state.of((Stage.DEAD,)):
            for reason, count in line.reasons.items():
                reasons[reason] += count
        if reasons:
            yield DeadLetters(tenant=state.tenant, minute=state.minute, reasons=dict(reasons))


class Sources:
    """Remembers in which minutes each source sent."""

    def __init__(self) -> None:
        self._minutes: dict[tuple[str, str], set[int]] = {}

    def take(self, parts: Iterable[JudgedMinute]) -> None:
        """Minutes that changed."""
        for state, *_ in parts:
            for stage, name, _ in state.lines:
                if stage is Stage.COLLECTED:
                    self._minutes.setdefault((state.tenant, name), set()).add(state.minute)

    def forget(self, now_ms: int) -> None:
        """Drop minutes that are no longer recent."""
        oldest = now_ms // MINUTE_MS - _SOURCE_MINUTES
        kept = {key: {m for m in minutes if m >= oldest} for key, minutes in self._minutes.items()}
        self._minutes = {key: minutes for key, minutes in kept.items() if minutes}

    def recent(self, now_ms: int) -> list[SourceMinutes]:
        """The recent minutes in which each source sent."""
        self.forget(now_ms)
        return [
            SourceMinutes(tenant=tenant, name=name, minutes=tuple(minutes))
            for (tenant, name), minutes in self._minutes.items()
        ]
