"""What a side has still to settle, as its brokers say."""

from typing import Final

from pipelines.control.deploy.backend import Remains
from shared.contracts.topology import CHAIN_GROUPS, INPUTS
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import lags, partition_ends

_RETRY: Final = "retry"


class RemainsReader:
    """Asks one side's brokers; belongs to one thread. Raises KafkaException and TimeoutError."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def read(self) -> Remains:
        """What is left now."""
        admin = admin_client(self._bootstrap)
        ends = partition_ends(admin)
        # A group that has moved none of its records yet has committed nothing: they all wait.
        found = {_RETRY: sum(end for (topic, _), end in ends.items() if topic in INPUTS[_RETRY])}
        found |= {each.node: each.records for each in lags(admin) if each.records is not None}
        return Remains(
            lag={node: found[node] for node in CHAIN_GROUPS if node in found},
            retries=found.get(_RETRY, 0),
        )
