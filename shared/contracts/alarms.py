"""Alarms and the windows that keep them quiet: what observe answers and tells, over HTTP.

Times are epoch milliseconds.
"""

from enum import StrEnum

from msgspec import Struct

from shared.contracts.scorecard import ALL_TENANTS


class AlarmKind(StrEnum):
    """What can be wrong."""

    LOSS = "loss"
    """Proven: an acknowledged event is neither delivered, waiting nor dead."""

    LOSS_RATE = "loss_rate"
    """Over the threshold, dead letters that hifi is to blame for included."""

    DOUBLED = "doubled"
    BURN = "burn"
    """Slow events use up the day's minutes too fast."""

    STALLED = "stalled"
    """A node reads nothing though there is something to read."""

    BACKLOG = "backlog"
    """What waits to be tried again grows."""

    SILENT = "silent"
    """A source that used to send sends nothing."""

    RATING = "rating"
    """Traffic is close to what the side was measured to carry."""

    METER = "meter"
    """The meter itself is behind."""

    CUSTOMER = "customer"
    """A destination's own, lasting fault, such as a wrong key: for the customer, not the operator."""


class Audience(StrEnum):
    """Whom an alarm is for."""

    OPERATOR = "operator"
    CUSTOMER = "customer"


class Alarm(Struct, kw_only=True, frozen=True):
    """One thing that is or was wrong."""

    id: str
    kind: AlarmKind
    audience: Audience
    tenant: str
    """ALL_TENANTS where it is nobody's in particular."""

    subject: str
    """The node, pipe, source or destination."""

    text: str
    """One sentence, with figures and their units."""

    opened_ms: int
    updated_ms: int
    resolved_ms: int | None = None
    updates: int = 0
    quiet: str = ""
    """Why it is told to nobody just now."""


class QuietWindow(Struct, kw_only=True, frozen=True):
    """A time in which alarms are kept, and told to nobody."""

    id: str = ""
    tenant: str = ALL_TENANTS
    kinds: list[AlarmKind] = []
    """None: every kind but proven loss."""

    from_ms: int
    until_ms: int
    reason: str
