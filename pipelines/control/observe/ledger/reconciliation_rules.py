"""Which stages make up the two sides of each reconciliation of a minute, and so must be equal.

A reconciliation holds the sketch of its plus side minus that of its minus side. What remains is missing
(positive) or too much (negative), by id.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from pipelines.control.observe.ledger.watermarks import WRITING
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import Node
from shared.contracts.topics import Topic
from shared.contracts.topology import INPUTS


class Reconciliation(StrEnum):
    """The reconciliations: what is compared with what."""

    INGEST = "ingest"
    ROUTE = "route"
    CLAIMS = "claims"
    """Claims of first copies against the further copies."""

    TRANSMIT = "transmit"
    DROPPED = "dropped"
    """Second copies that transmit dropped: they explain differences in other reconciliations."""

    UNSENDABLE = "unsendable"
    """Quarantined by transmit, where the pipe is not known: explains events missing in a pipe."""

    RETRYING = "retrying"
    """transmit's receipts against what it wrote into retry topics."""

    DEAD = "dead"
    """transmit's receipts against what it wrote into the dead-letter topic."""

    RETRY = "retry"
    UNHOLDABLE = "unholdable"
    """Quarantined by retry, where the pipe is not known."""


class Balance(NamedTuple):
    """The two sides of a reconciliation."""

    node: Node
    passing: str
    """The node with the watermarks (see `watermarks`) that show when its input is processed."""

    per_pipe: bool
    plus: tuple[Stage, ...]
    minus: tuple[Stage, ...]
    input: tuple[Stage, ...]
    """The node that must have processed the input before a missing event counts as lost."""

    quarantined: tuple[Topic, ...] = ()
    """Records that the node could not read, by their topic; on the minus side, or on the plus side of an
    reconciliation that has no other."""


_TAKEN: Final = (Stage.FIRST, Stage.FURTHER, Stage.LETTER, Stage.RETRIED)
_READ_BY_TRANSMIT: Final = (*INPUTS["transmit"], *INPUTS["transmit_slow"])

BALANCES: Final[Mapping[Reconciliation, Balance]] = {
    Reconciliation.INGEST: Balance(
        Node.INGEST, "ingest", False, (Stage.COLLECTED,), (Stage.EVENTS,), (Stage.COLLECTED,)
    ),
    Reconciliation.ROUTE: Balance(
        Node.ROUTE,
        "route",
        False,
        (Stage.EVENTS,),
        (Stage.UNMATCHED, Stage.FIRST),
        (Stage.EVENTS,),
        INPUTS["route"],
    ),
    Reconciliation.CLAIMS: Balance(
        # Claim and copy are written to one topic in one batch, which is complete once route has gone on.
        Node.ROUTE,
        "route",
        True,
        (Stage.CLAIMED,),
        (Stage.FURTHER,),
        (Stage.EVENTS,),
    ),
    Reconciliation.TRANSMIT: Balance(
        Node.TRANSMIT, "transmit", True, _TAKEN, (Stage.DELIVERED, Stage.RETRYING, Stage.DEAD), _TAKEN
    ),
    Reconciliation.DROPPED: Balance(Node.TRANSMIT, "transmit", True, (Stage.DROPPED,), (), _TAKEN),
    Reconciliation.UNSENDABLE: Balance(Node.TRANSMIT, "transmit", False, (), (), _TAKEN, _READ_BY_TRANSMIT),
    Reconciliation.RETRYING: Balance(
        Node.TRANSMIT, WRITING, True, (Stage.RETRYING,), (Stage.WAITING,), (Stage.RETRYING,)
    ),
    Reconciliation.DEAD: Balance(
        Node.TRANSMIT, WRITING, True, (Stage.DEAD,), (Stage.DEAD_LETTER,), (Stage.DEAD,)
    ),
    Reconciliation.RETRY: Balance(
        Node.RETRY, "retry", True, (Stage.WAITING,), (Stage.RETRIED,), (Stage.WAITING,)
    ),
    Reconciliation.UNHOLDABLE: Balance(Node.RETRY, "retry", False, (), (), (Stage.WAITING,), INPUTS["retry"]),
}


DOUBLED_BEFORE_TRANSMIT: Final = frozenset(
    (
        Reconciliation.INGEST,
        Reconciliation.ROUTE,
        Reconciliation.CLAIMS,
        Reconciliation.RETRYING,
        Reconciliation.RETRY,
    )
)
"""Reconciliations with doubles that transmit later sees as second copies, and drops if it recognises them."""


class Key(NamedTuple):
    """A reconciliation of one tenant's minute."""

    reconciliation: Reconciliation
    pipe: str = ""
    """Empty if the reconciliation is not kept by pipe."""

    @property
    def balance(self) -> Balance:
        """The two sides of the reconciliation."""
        return BALANCES[self.reconciliation]

    @property
    def input_name(self) -> str | None:
        """The name of its input's tallies; None for any name, where events have no pipe yet."""
        return None if Stage.EVENTS in self.balance.input else self.pipe or None


class Entry(NamedTuple):
    """A reconciliation that a tally counts in, and on which side."""

    key: Key
    sign: int
    """1 on the plus side, -1 on the minus side."""


@lru_cache(maxsize=4096)  # it is asked for each record that is read again
def entries(stage: Stage, name: str) -> tuple[Entry, ...]:
    """The reconciliations that events of a stage and a name (see `Stage`) count in."""
    signs = {reconciliation: _sign(balance, stage, name) for reconciliation, balance in BALANCES.items()}
    return tuple(
        Entry(Key(reconciliation, name if BALANCES[reconciliation].per_pipe else ""), sign)
        for reconciliation, sign in signs.items()
        if sign
    )


def _sign(balance: Balance, stage: Stage, name: str) -> int:
    if stage is Stage.QUARANTINED:
        return (-1 if balance.plus else 1) if name in balance.quarantined else 0
    return (stage in balance.plus) - (stage in balance.minus)
