"""The burn-rate alarm: slow events use up the day's error budget too fast. Pure.

The promise is three nines a day, so the error budget is 0.1 % of its minutes: 1.44 of 1,440 may be spent. The
burn rate of a window is the share of its minutes that are slow (`Counts.slow`), divided by 0.1 %. A minute
with a loss is spent too; it has an alarm of its own. This alarm needs the rate in a long window, so that it
matters, and in a short one, so that it is still going on: "Multiwindow, Multi-Burn-Rate Alerts", The Site
Reliability Workbook, chapter 5 (Google, 2018). Rates and windows are from there. Because the budget is for a
day and not a month, one slow minute is a burn rate of 16.7 in an hour: the first slow minute raises the fast
alarm, the third in six hours the slow one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from pipelines.control.observe.alarms.formatting import counted, listed, moment, percent
from pipelines.control.observe.alarms.inputs import Finding, Inputs
from pipelines.control.observe.alarms.loss_rules import tenants
from shared.contracts.alarms import AlarmKind
from shared.contracts.counts import BUDGET_SHARE, GOOD_SHARE
from shared.contracts.cut import cut
from shared.contracts.documents import WARM_UP
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import MinuteCard

UNSETTLED_MINUTES: Final = 15
"""A minute that settles later than this counts for the day but raises no burn-rate alarm."""


class Window(Struct, frozen=True, kw_only=True):
    """A long and a short window, in minutes, and the burn rate that raises the alarm."""

    name: str
    long: int
    short: int
    rate: float


WINDOWS: Final = (
    Window(name="fast", long=60, short=5, rate=14.4),
    Window(name="slow", long=360, short=30, rate=6.0),
)


def oldest_minute(subject: str, at_ms: int) -> int:
    """The first epoch minute that an alarm may be about that is open now.

    Args:
        subject: the alarm's, which is the name of its window; of an unknown one the longest counts.
        at_ms: now, epoch milliseconds.
    """
    long = max((each.long for each in WINDOWS if each.name == subject), default=WINDOWS[-1].long)
    return at_ms // MINUTE_MS - UNSETTLED_MINUTES - long + 1


def burning(inputs: Inputs) -> Iterator[Finding]:
    """Findings for tenants that use up the day's budget too fast, one per window."""
    for tenant, cards in tenants(inputs):
        if tenant == WARM_UP:
            continue  # its load is there to make slow code fast
        settled = [card for card in cards if card.settled and card.total]
        end = _end(inputs.at_ms // MINUTE_MS, settled)
        slow = [card for card in settled if end - WINDOWS[-1].long < card.minute <= end and card.slow]
        for window in WINDOWS:
            if _burns(slow, end, window):
                yield Finding(
                    kind=AlarmKind.BURN, tenant=tenant, subject=window.name, text=_text(slow, end, window)
                )


def _end(now: int, settled: Sequence[MinuteCard]) -> int:
    """The last minute of the windows: the newest settled one, but no older than UNSETTLED_MINUTES."""
    return max(settled[-1].minute if settled else 0, now - UNSETTLED_MINUTES)


def _burns(slow: Sequence[MinuteCard], end: int, window: Window) -> bool:
    return all(_rate(slow, end, minutes) >= window.rate for minutes in (window.long, window.short))


def _rate(slow: Sequence[MinuteCard], end: int, minutes: int) -> float:
    return sum(end - minutes < card.minute for card in slow) / minutes / BUDGET_SHARE


def _text(slow: Sequence[MinuteCard], end: int, window: Window) -> str:
    shown = [card for card in slow if end - window.long < card.minute]
    worst = min(shown, key=lambda card: card.sli if card.sli is not None else 1.0)
    return (
        f"{counted(len(shown), 'minute')} of the last {window.long} with less than {percent(GOOD_SHARE)} "
        f"good deliveries, {_rate(slow, end, window.long):.1f} times what three nines a day allow: "
        f"{listed(moment(card.minute) for card in reversed(shown))}; "
        f"the worst had {cut(100 * (worst.sli or 0.0), 2)} %"
    )
