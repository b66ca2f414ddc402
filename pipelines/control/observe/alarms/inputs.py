"""What alarms are judged by, and what is found. Pure."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from shared.contracts.alarms import AlarmKind, Audience
from shared.contracts.scorecard import ALL_TENANTS, DestinationHealth, MinuteCard


class NodeProgress(Struct, kw_only=True, frozen=True):
    """How a consumer group gets on."""

    node: str
    """Its name, such as `route` or `transmit_slow`."""

    readable: int
    """Records that it could read now and has not; of retry only those that are due."""

    moved_ms: int
    """When its offsets were last seen to move, or to be at the end; epoch milliseconds."""


class SourceMinutes(Struct, kw_only=True, frozen=True):
    """When a source sent."""

    tenant: str
    name: str
    minutes: Sequence[int]
    """Epoch minutes with events of it, in any order, each once."""


class DeadLetters(Struct, kw_only=True, frozen=True):
    """What became dead letters of one minute of one tenant."""

    tenant: str
    minute: int
    reasons: Mapping[str, int]
    """Events by `status reason`, as `Tally.reasons` has them."""


class Inputs(Struct, kw_only=True, frozen=True):
    """One look at everything."""

    at_ms: int
    cards: Mapping[str, Sequence[MinuteCard]]
    """By tenant, ALL_TENANTS left out or not: all minutes that observe holds, oldest first, with names where
    they are known."""

    dead: Sequence[DeadLetters] = ()
    """Of the last six hours at least, which is the longest window of `burn`."""

    destinations: Sequence[DestinationHealth] = ()
    """Over the last minutes."""

    nodes: Sequence[NodeProgress] = ()
    sources: Sequence[SourceMinutes] = ()
    waiting: Mapping[str, int] = {}
    """All events that wait for their next try, of whatever minute, by pipe."""

    rate: float = 0.0
    """Events a second that the side takes, over the last whole minute that audit has read."""

    behind_seconds: float = 0.0
    """How far audit or observe is behind the topics; 0 when they have read all."""


class Finding(Struct, kw_only=True, frozen=True):
    """A condition that holds now."""

    kind: AlarmKind
    audience: Audience = Audience.OPERATOR
    tenant: str = ALL_TENANTS
    subject: str
    """The node, pipe, source or destination."""

    text: str
    """One sentence, with figures and their units."""

    @property
    def key(self) -> str:
        """What an alarm is the same by, whatever its text says."""
        return "\x1f".join((self.kind, self.audience, self.tenant, self.subject))


class Evaluation(Struct, kw_only=True, frozen=True):
    """All that holds, and what could not be told."""

    findings: Sequence[Finding]
    unknown: frozenset[AlarmKind] = frozenset()
    """Kinds whose absence means nothing now, because the meter is behind."""


class TransitionKind(StrEnum):
    """What is told of an alarm."""

    OPENED = "opened"
    UPDATED = "updated"
    RESOLVED = "resolved"
