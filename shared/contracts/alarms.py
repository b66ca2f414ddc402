"""Alarms and quiet windows, as observe's HTTP API and its notifications have them.

Times are epoch milliseconds.
"""

from enum import StrEnum

from msgspec import Struct

from shared.contracts.scorecard import ALL_TENANTS


class AlarmKind(StrEnum):
    """The kinds of alarms."""

    LOSS = "loss"
    """Proven loss: an acknowledged event is neither delivered nor waiting nor a dead letter."""

    LOSS_RATE = "loss_rate"
    """Lost events, and dead letters caused by hifi, exceed the threshold."""

    DOUBLED = "doubled"
    BURN = "burn"
    """Slow events use up the day's error budget too fast."""

    STALLED = "stalled"
    """A node reads nothing although there are records."""

    BACKLOG = "backlog"
    """The events of a pipe that wait to be retried become more and more."""

    SILENT = "silent"
    """A source that used to send has stopped."""

    RATING = "rating"
    """Traffic is close to the side's rating."""

    METER = "meter"
    """The meter is behind the topics."""

    CUSTOMER = "customer"
    """A destination fails for a permanent reason that its customer can fix, such as a wrong key."""

    SKEW = "skew"
    """A watched field differs from the same hour of the days before."""


class Audience(StrEnum):
    """Who is notified of an alarm."""

    OPERATOR = "operator"
    CUSTOMER = "customer"


class Alarm(Struct, kw_only=True, frozen=True):
    """An open or resolved alarm."""

    id: str
    kind: AlarmKind
    audience: Audience
    tenant: str
    """ALL_TENANTS if it concerns no particular tenant."""

    subject: str
    """The node, pipe, source or destination."""

    text: str
    """One sentence, with figures and their units; ends with cause and fix, where there are any."""

    cause: str = ""
    """The likely cause; empty if the alarm names none."""

    fix: str = ""
    """The customer's way to put it right; empty if the alarm names none."""

    document: str = ""
    """The document to look at, `kind/name`; empty if there is none."""

    opened_ms: int
    updated_ms: int
    resolved_ms: int | None = None
    updates: int = 0
    quiet: str = ""
    """The reason of the quiet window that suppresses it now; empty if none does."""


class QuietWindow(Struct, kw_only=True, frozen=True):
    """A time in which alarms are recorded but not sent."""

    id: str = ""
    tenant: str = ALL_TENANTS
    kinds: list[AlarmKind] = []
    """Empty for every kind except `loss`."""

    from_ms: int
    until_ms: int
    reason: str
