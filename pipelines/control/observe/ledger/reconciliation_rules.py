"""What must come out even: which stages of an event's way make up the two sides of each account.

An account is kept as a sketch of its plus side less its minus side, so what is left over is what is missing
(positive) or too much (negative), by id.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from pipelines.control.observe.ledger.watermarks import WRITING
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import Node
from shared.contracts.topics import Topic
from shared.contracts.topology import INPUTS


class Reconciliation(StrEnum):
    """What is counted up against what."""

    INGEST = "ingest"
    ROUTE = "route"
    CLAIMS = "claims"
    """What first copies promise to further pipes."""

    TRANSMIT = "transmit"
    DROPPED = "dropped"
    """Second copies that transmit recognised: they explain what others have too much, or too little."""

    UNSENDABLE = "unsendable"
    """Quarantined by transmit, which knows no pipe then: explains what a pipe is missing."""

    RETRYING = "retrying"
    """transmit's receipts against what it wrote into retry topics."""

    DEAD = "dead"
    """transmit's receipts against what it wrote into the dead-letter topic."""

    RETRY = "retry"
    UNHOLDABLE = "unholdable"
    """Quarantined by retry, which knows no pipe then."""


class Balance(NamedTuple):
    """How an account is made up."""

    node: Node
    passing: str
    """By whose marks (see `passing`) its input is known to be done with."""

    per_pipe: bool
    plus: tuple[Stage, ...]
    minus: tuple[Stage, ...]
    input: tuple[Stage, ...]
    """Whose records must have been passed before what is missing can be called lost."""

    quarantined: tuple[Topic, ...] = ()
    """Records that the node could not read, by the topic they were in; on the minus side, or on the plus
    side of an account that has no other."""


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
        # Claim and copy lie in the same topic, written in the same batch: it is over when route has gone on.
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


class Key(NamedTuple):
    """An account of one tenant's minute."""

    account: Reconciliation
    pipe: str = ""
    """Empty where the account is not kept by pipe."""

    @property
    def balance(self) -> Balance:
        """How it is made up."""
        return BALANCES[self.account]

    @property
    def input_name(self) -> str | None:
        """The name of its input's tallies; None for any: events know no pipe yet."""
        return None if Stage.EVENTS in self.balance.input else self.pipe or None


class Entry(NamedTuple):
    """Where a tally goes."""

    key: Key
    sign: int
    """1 on the plus side, -1 on the minus side."""


def entries(stage: Stage, name: str) -> Iterable[Entry]:
    """The accounts that events of a stage and a name (see Stage) go into."""
    for account, balance in BALANCES.items():
        sign = _sign(balance, stage, name)
        if sign:
            yield Entry(Key(account, name if balance.per_pipe else ""), sign)


def _sign(balance: Balance, stage: Stage, name: str) -> int:
    if stage is Stage.QUARANTINED:
        return (-1 if balance.plus else 1) if name in balance.quarantined else 0
    return (stage in balance.plus) - (stage in balance.minus)
