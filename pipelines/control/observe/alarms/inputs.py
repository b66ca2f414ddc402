"""Input and output of the alarm rules. Pure."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from shared.contracts.alarms import AlarmKind, Audience
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.documents import TenantName
from shared.contracts.scorecard import ALL_TENANTS, MinuteCard
from shared.contracts.skew import FieldSkew

ALARM_MINUTES: Final = 26 * 60
"""How far back alarms look: an event that waited in retry for a day is found missing, is doubled or dies that
late."""


class NodeProgress(Struct, kw_only=True, frozen=True):
    """Progress of a consumer group."""

    node: str
    """Name of the group, such as `route` or `transmit_slow`."""

    readable: int
    """Records that it could read now and has not; for retry only those that are due."""

    moved_ms: int
    """When its offsets were last seen to move, or to be at the end; epoch milliseconds.
    Later by the time of which nothing is known."""


class SourceMinutes(Struct, kw_only=True, frozen=True):
    """The minutes in which a source sent."""

    tenant: str
    name: str
    minutes: Sequence[int]
    """Epoch minutes with events of this source, in any order, each once."""


class DeadLetters(Struct, kw_only=True, frozen=True):
    """Dead letters of one tenant's minute."""

    tenant: str
    minute: int
    reasons: Mapping[str, int]
    """Events by `status reason`, as in `Tally.reasons`."""


class StoppedRollout(Struct, kw_only=True, frozen=True):
    """A rollout that broke a limit and waits for its customer."""

    tenant: str
    pipe: str
    share: float
    """Percent that the pipe takes now."""

    reason: str
    """Which limit, with the figures."""


class Inputs(Struct, kw_only=True, frozen=True):
    """Everything that the rules evaluate in one pass."""

    at_ms: int
    cards: Mapping[str, Sequence[MinuteCard]]
    """All minutes that observe holds, by tenant, oldest first; ALL_TENANTS may be among the keys. Lost events
    are named where their ids are known."""

    dead: Sequence[DeadLetters] = ()
    """Those of the last six hours at least: the longest window of the burn-rate alarm."""

    destinations: Sequence[DestinationHealth] = ()
    """Health over the last minutes."""

    nodes: Sequence[NodeProgress] | None = ()
    """None while the brokers do not answer."""

    sources: Sequence[SourceMinutes] = ()
    waiting: Mapping[TenantName, int] = {}
    """Events in the retry topics, of all minutes, by tenant and pipe."""

    stopped: Sequence[StoppedRollout] | None = ()
    """None while they are not known."""

    skews: Sequence[FieldSkew] | None = ()
    """Every field that was watched in this hour or the last; None while they were not compared yet."""

    rate: float = 0.0
    """Events per second that the side accepted in the last whole minute that audit has read."""

    behind_seconds: float = 0.0
    """How far audit or observe lags behind the topics; 0 when they have read everything."""


class Finding(Struct, kw_only=True, frozen=True):
    """A condition that a rule found to hold now."""

    kind: AlarmKind
    audience: Audience = Audience.OPERATOR
    tenant: str = ALL_TENANTS
    subject: str
    """The node, pipe, source or destination."""

    text: str
    """One sentence, with figures and their units; ends with cause and fix, where there are any."""

    cause: str = ""
    fix: str = ""
    document: str = ""
    """`fix` and `document` as in `Alarm`."""

    @property
    def key(self) -> str:
        """Identifies the alarm: a finding with the same key and another text is the same alarm."""
        return "\x1f".join((self.kind, self.audience, self.tenant, self.subject))


class Evaluation(Struct, kw_only=True, frozen=True):
    """Result of evaluating all rules: what holds, and what cannot be known now."""

    findings: Sequence[Finding]
    unknown: frozenset[AlarmKind] = frozenset()
    """Kinds that may hold although there is no finding: the meter is behind, or documents are not loaded."""

    contacts_known: bool = True
    """False while the documents are not loaded: what customers are to be notified of waits."""


class TransitionKind(StrEnum):
    """The kind of change to an alarm; part of the notification's type."""

    OPENED = "opened"
    UPDATED = "updated"
    RESOLVED = "resolved"
