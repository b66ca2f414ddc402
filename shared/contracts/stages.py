"""The stage that each event of a record is counted in. Pure.

The one table behind both readers of the chain's topics: audit, which reads columns, and observe, which reads
one record at a time.
"""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Final, NamedTuple

from shared.contracts import headers as h
from shared.contracts.ledger import Stage
from shared.contracts.topics import RETRY_DELAYS, Topic

TOPIC_STAGES: Final[Mapping[str, Stage]] = {
    Topic.COLLECTED: Stage.COLLECTED,
    Topic.EVENTS: Stage.EVENTS,
    Topic.UNMATCHED: Stage.UNMATCHED,
    Topic.RETRY_OUT: Stage.RETRIED,
    **dict.fromkeys(RETRY_DELAYS, Stage.WAITING),
    Topic.DEAD_LETTER: Stage.DEAD_LETTER,
    Topic.QUARANTINE: Stage.QUARANTINED,
}
"""The stage of each topic that has events of one stage only."""

RESULT_STAGES: Final[Mapping[str, Stage]] = {
    "delivered": Stage.DELIVERED,
    "retry": Stage.RETRYING,
    "dead": Stage.DEAD,
    "duplicate": Stage.DROPPED,
}
"""Events of `receipts`, by `receipts.Result`."""


class CopyFact(Enum):
    """A fact about a copy in `outbound`, which decides its stage: see COPY_RULES."""

    LETTER = auto()
    """The record has the header LETTER."""

    OTHER_FIRST = auto()
    """The header PIPES names another pipe first."""

    LATER = auto()
    """It is not this record, but a further pipe that PIPES names."""


COPY_RULES: Final = (
    (CopyFact.LETTER, Stage.LETTER),
    (CopyFact.OTHER_FIRST, Stage.FURTHER),
    (CopyFact.LATER, Stage.CLAIMED),
)
"""Copies in `outbound`: the first fact that holds decides."""

COPY_ELSE: Final = Stage.FIRST
"""The stage of a copy of which no fact holds."""

KIND_STAGES: Final[Mapping[str, Mapping[str, Stage]]] = {
    Topic.OUTBOUND: {stage.value: stage for stage in (*(stage for _, stage in COPY_RULES), COPY_ELSE)},
    Topic.RECEIPTS: RESULT_STAGES,
}
"""Stages of each topic that has events of several, by kind: a copy's stage, or a receipt's result."""

NAMED_BY_PIPE: Final = frozenset(
    {Topic.OUTBOUND, Topic.RECEIPTS, Topic.RETRY_OUT, *RETRY_DELAYS, Topic.DEAD_LETTER}
)
"""A record of these that names no pipe holds no event."""

HEADER_TOPICS: Final[Mapping[str, tuple[Topic, ...]]] = {
    h.SOURCE: (Topic.COLLECTED,),
    h.PIPES: (Topic.OUTBOUND,),
    h.LETTER: (Topic.OUTBOUND, Topic.DEAD_LETTER),
    h.REASON: (Topic.DEAD_LETTER,),
    h.STATUS: (Topic.DEAD_LETTER,),
    h.WATCHED: (Topic.OUTBOUND,),
    h.ORIGIN: (Topic.QUARANTINE,),
    h.NOT_BEFORE: tuple(RETRY_DELAYS),
    h.REPLAY: (
        Topic.EVENTS,
        Topic.UNMATCHED,
        Topic.OUTBOUND,
        Topic.RETRY_OUT,
        *RETRY_DELAYS,
        Topic.DEAD_LETTER,
        Topic.QUARANTINE,
    ),
}
"""Headers that matter in some topics only. In others they are not read, whatever they say."""


class Copy(NamedTuple):
    """A pipe that a record of `outbound` speaks of, and the stage in which the event is counted for it."""

    stage: Stage
    pipe: str


def copies(pipe: str, pipes: str | None, letter: str | None) -> Iterator[Copy]:
    """The pipes that a record of `outbound` speaks of, each with the stage of its event.

    Args:
        pipe: The header PIPE.
        pipes: The header PIPES; None if the record has none.
        letter: The header LETTER; None if the record has none.
    """
    named = [] if pipes is None or letter is not None else pipes.split(h.PIPES_SEPARATOR)
    other_first = bool(named) and named[0] != pipe
    claimed = [] if other_first else named[1:]
    for position, name in enumerate([pipe, *claimed]):
        facts = {
            CopyFact.LETTER: letter is not None,
            CopyFact.OTHER_FIRST: other_first,
            CopyFact.LATER: position > 0,
        }
        yield Copy(next((stage for fact, stage in COPY_RULES if facts[fact]), COPY_ELSE), name)


class Identity(NamedTuple):
    """An event's id and tenant, its minute, and when it was received."""

    id: str
    tenant: str
    minute: int
    """Epoch minute."""

    received_ms: int
    """Epoch milliseconds."""


def identity(headers: Mapping[str, str]) -> Identity:
    """The identity of a record's only event. A record without any part of it holds no event.

    Raises:
        KeyError: if a header is missing.
        ValueError: if the header of a number does not hold one.
    """
    return Identity(headers[h.CE_ID], headers[h.TENANT], int(headers[h.MINUTE]), int(headers[h.RECEIVED]))
