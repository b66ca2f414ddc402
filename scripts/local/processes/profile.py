"""How much of a local side runs."""

from enum import StrEnum


class SideProfile(StrEnum):
    """What `hifi up` starts."""

    ALL = "all"
    CHAIN = "chain"
    """Brokers, collect, Spark and retry, without the meter."""

    BROKERS = "brokers"
