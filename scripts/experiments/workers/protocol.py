"""How a consumer group shares its partitions, and what happens to workers or members."""

from enum import StrEnum
from typing import Final


class Protocol(StrEnum):
    """How partitions are given to members."""

    EAGER = "eager"
    """All members stop, then all begin anew."""

    COOPERATIVE = "cooperative"
    """Only partitions that move stop."""

    CONSUMER = "consumer"
    """The broker assigns, without a pause of the others (KIP-848)."""


class Change(StrEnum):
    """A change of the workers, or of the members of a group."""

    ADD = "add"
    """One more."""

    KILL = "kill"
    """SIGKILL of the last one, which is started again."""

    DRAIN = "drain"
    """The last one ends in an orderly way."""

    KILL_MASTER = "kill master"
    """SIGKILL of Spark's master, which is started again."""

    KILL_DRIVER = "kill driver"
    """SIGKILL of Spark's driver, which is started again: its executors end, too."""


OF_GROUPS: Final = (Change.ADD, Change.KILL, Change.DRAIN)
"""Changes that a plain consumer group has, too."""
