"""Records and events that a side has still to settle, as its brokers say."""

from typing import Final

from pipelines.control.deploy.backend import Remains
from shared.contracts.topology import CHAIN_GROUPS
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import lags

_RETRY: Final = "retry"


class RemainsReader:
    """Asks one side's brokers; belongs to one thread. Raises KafkaException and TimeoutError."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def read(self) -> Remains:
        """The chain's lag now, and the events that wait for their next try."""
        found = {each.node: each for each in lags(admin_client(self._bootstrap))}
        # A group that has moved none of its records yet has committed nothing: they all wait.
        retries = found[_RETRY].ahead
        known = {node: each.records for node, each in found.items() if each.records is not None}
        known |= {_RETRY: retries}
        return Remains(lag={node: known[node] for node in CHAIN_GROUPS if node in known}, retries=retries)
