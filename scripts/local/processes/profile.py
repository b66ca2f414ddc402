"""Profiles of a local side: which programs run."""

from enum import StrEnum


class SideProfile(StrEnum):
    """Programs that `hifi up` starts."""

    ALL = "all"
    CHAIN = "chain"
    """Brokers, documents, collect, Spark and retry, without the meter."""

    BROKERS = "brokers"
    """Brokers alone: no documents."""
