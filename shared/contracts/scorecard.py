"""Responses of observe's HTTP API, for the console and the command line.

Times are epoch milliseconds or epoch minutes, lags milliseconds, shares between 0 and 1, rates events a
second.
"""

from enum import StrEnum

from msgspec import Struct, field

from shared.contracts.counts import Counts

ALL_TENANTS = "*"
"""Name of the sum over all tenants, the operator's view."""


class Node(StrEnum):
    """The nodes an event passes, in their order."""

    COLLECT = "collect"
    INGEST = "ingest"
    ROUTE = "route"
    TRANSMIT = "transmit"
    RETRY = "retry"


class Percentiles(Struct, kw_only=True, frozen=True):
    """Of a lag, milliseconds; None where there was no event."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


class NodeLags(Struct, kw_only=True, frozen=True):
    """How late events were at one node, from the time that names their minute."""

    node: Node
    lag_in: Percentiles
    """When it could first read them."""

    lag_out: Percentiles
    """When what it made of them was written, or arrived."""

    process_ms: float | None = None
    """The time that the node adds: lag-out p95 minus lag-in p95, at least 0."""


class NamedEvent(Struct, kw_only=True, frozen=True):
    """One lost or doubled event."""

    hash: str
    """Of its id, 16 hexadecimal digits."""

    times: int
    """How often it is missing; negative: how often too many."""

    id: str = ""
    """Empty where no record of it was found any more."""

    topic: str = ""
    """Where a record of it can be read, and that record's place."""

    partition: int = -1
    offset: int = -1


class HopRow(Struct, kw_only=True, frozen=True):
    """A row of the loss table: what a node received, and what became of it."""

    node: Node
    pipe: str = ""
    """Empty for what comes before the pipes."""

    tenant: str = ""
    """The pipe's, in the card of ALL_TENANTS; empty in a tenant's own card."""

    taken: int
    given: int
    lost: int = 0
    doubled: int = 0
    """Written more often than received. `dropped` has second copies that transmit recognised."""

    under_way: int = 0
    """Not written yet, and not late enough to count as lost."""

    waiting: int = 0
    """For their next try, in a retry topic."""

    dropped: int = 0
    """Second copies that transmit recognised."""

    dead: int = 0
    """In the dead-letter topic."""

    replayed: int = 0
    """Written for events that were processed again after a rollback; not part of `given`."""

    events: int = 0
    """Of transmit: events that were to be delivered through the pipe, each once."""

    good: int = 0
    """Of transmit: those that left hifi within a second of entering it."""

    quarantined: int = 0
    lost_percent: float = 0.0
    named: list[NamedEvent] = []
    unnamed: bool = False
    """Whether more are lost or doubled than can be named."""

    look_at: list[str] = []
    """`topic/partition/first-last`: where the records of what was taken are."""

    @property
    def full_pipe(self) -> str:
        """The pipe as readers know it: `tenant/pipe` in the card of ALL_TENANTS."""
        return f"{self.tenant}/{self.pipe}" if self.tenant else self.pipe


class MinuteFigures(Counts, kw_only=True, frozen=True):
    """One minute of one tenant, without its hops: of all tenants those are as many as there are pipes."""

    tenant: str
    minute: int
    settled: bool
    """Whether it has been judged; it can still change, when what waits arrives."""

    loss_percent: float = 0.0
    """Of the deliveries owed, end to end."""

    sli: float | None = None
    """The good share of the deliveries that hifi answers for, see `Counts`; None where there are none."""

    spent: bool = False
    why: list[str] = field(default_factory=list)
    """Why the minute is spent, a sentence each; and one if records expired before they were counted."""

    inside: Percentiles = Percentiles()
    """From entering hifi to leaving it."""

    end_to_end: Percentiles = Percentiles()
    """From the time that names the minute to leaving hifi."""

    nodes: list[NodeLags] = field(default_factory=list)


class MinuteCard(MinuteFigures, kw_only=True, frozen=True):
    """One minute of one tenant."""

    hops: list[HopRow] = field(default_factory=list)
    """Empty if the minute was asked for without them."""


class PipeCard(Struct, kw_only=True, frozen=True):
    """The outcome of one pipe's events, of minutes that audit has read to their end."""

    tenant: str
    pipe: str
    first: int
    """The first minute."""

    last: int
    """The last one; before the first if none is complete yet."""

    events: int = 0
    """Events that hifi tried to deliver."""

    good: int = 0
    """Those that left hifi within a second of entering it."""

    dead: int = 0
    """Dead letters that were not replayed since."""


class SpentMinute(Struct, kw_only=True, frozen=True):
    """A minute that broke a promise."""

    minute: int
    why: list[str]


class DayCard(Counts, kw_only=True, frozen=True):
    """One day (UTC) of one tenant; what is still under way is in its minutes."""

    tenant: str
    day: str
    """YYYY-MM-DD."""

    minutes: int = 0
    """Minutes judged so far that had events."""

    spent: list[SpentMinute] = field(default_factory=list)
    nines: float | None = None
    """-log10 of the share of the day's 1,440 minutes that are spent; 9 for none; None before the first."""

    left: float = 0.0
    """Minutes that may still be spent under three nines a day; negative when more were."""

    loss_percent: float = 0.0
    inside: Percentiles = Percentiles()
    end_to_end: Percentiles = Percentiles()
    nodes: list[NodeLags] = field(default_factory=list)
    hops: list[HopRow] = field(default_factory=list)
    """Summed over the day, without names."""


class MinuteMark(Struct, kw_only=True, frozen=True):
    """A minute in a calendar."""

    minute: int
    total: int
    spent: bool
    settled: bool
    sli: float | None


class DayMark(Struct, kw_only=True, frozen=True):
    """A day in a calendar."""

    day: str
    nines: float | None
    spent: int
    minutes: int
    lost: int


class Now(Struct, kw_only=True, frozen=True):
    """The current figures."""

    tenant: str
    at_ms: int
    """When observe looked last, epoch milliseconds; 0 before its first look since it was started."""

    rate: float
    """Events a second that came in, over the last whole minute that audit has read."""

    end_to_end: Percentiles
    """Of the same minute."""

    inside: Percentiles
    loss_percent: float
    """Of today's deliveries owed."""

    nines: float | None
    """Today's."""

    behind_seconds: float
    """How far audit and observe are behind the topics; 0 when they have read all."""

    behind: bool
    """Whether that is so much that pages should warn."""

    open_alarms: int

    @property
    def looked(self) -> bool:
        """Whether observe has looked since it was started; if not, rate and lags are unknown."""
        return self.at_ms > 0


class EventLocation(Struct, kw_only=True, frozen=True):
    """Where one event was seen."""

    node: str
    topic: str
    partition: int
    offset: int
    at_ms: int
    """The record's own time."""

    pipe: str = ""
    destination: str = ""
    result: str = ""
    """Of a receipt."""

    text: str = ""
    """A few words on what happened there."""


class EventSearch(Struct, kw_only=True, frozen=True):
    """Where an event was."""

    places: list[EventLocation]
    """Oldest first."""

    complete: bool
    """Whether the whole time that was asked for was searched; if not, only its newest records."""
