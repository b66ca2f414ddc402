"""Which node reads and writes which topic: the chain's edges, and the meter's."""

from collections.abc import Mapping
from typing import Final

from shared.contracts.topics import RETRY_DELAYS, TALLIED, Topic

INPUTS: Final[Mapping[str, tuple[Topic, ...]]] = {
    "ingest": (Topic.COLLECTED,),
    "route": (Topic.EVENTS,),
    "transmit": (Topic.OUTBOUND, Topic.RETRY_OUT),
    "transmit_slow": (Topic.OUTBOUND_SLOW,),
    "retry": tuple(RETRY_DELAYS),
    "audit": TALLIED,
    "trace": (Topic.TRACES,),
}
"""The topics that each node takes records from, by the name of its consumer group. A node that follows a
topic without a group, as most do `config`, is not listed for it."""

CHAIN_QUERIES: Final = ("ingest", "route", "transmit", "transmit_slow")
"""The Spark queries that move events on; they go on where their checkpoints say."""

CHAIN_GROUPS: Final = (*CHAIN_QUERIES, "retry")
"""The groups that move events on, in the order an event passes them."""

METERING_NODE: Final = "audit"
"""The node that counts what the others do. It goes on where its ledger ends, and is set to no position."""

_TRANSMIT: Final = (Topic.OUTBOUND_SLOW, Topic.RECEIPTS, *RETRY_DELAYS, Topic.DEAD_LETTER, Topic.QUARANTINE)

OUTPUTS: Final[Mapping[str, tuple[Topic, ...]]] = {
    "collect": (Topic.COLLECTED,),
    "ingest": (Topic.EVENTS, Topic.QUARANTINE),
    "route": (Topic.UNMATCHED, Topic.OUTBOUND, Topic.QUARANTINE),
    "transmit": _TRANSMIT,
    "transmit_slow": _TRANSMIT,
    "retry": (Topic.RETRY_OUT, Topic.QUARANTINE),
    "audit": (Topic.LEDGER, Topic.TRACES),
}
"""The topics of events, and of what became of them, that each node writes."""

MAIN_OUTPUTS: Final[Mapping[str, Topic]] = {
    "ingest": Topic.EVENTS,
    "route": Topic.OUTBOUND,
    "transmit": Topic.RECEIPTS,
    "transmit_slow": Topic.RECEIPTS,
    "audit": Topic.LEDGER,
}
"""The topic that each Spark node writes to when all goes well; a rehearsal writes to these only."""

READERS: Final[Mapping[str, str]] = {topic: group for group in CHAIN_GROUPS for topic in INPUTS[group]}
"""The group of the chain that takes records on from a topic."""
