"""What a side has still to settle, as its brokers say."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from pipelines.control.deploy.backend import Remains
from shared.contracts.topics import Topic
from shared.contracts.topology import CHAIN_GROUPS, INPUTS
from shared.dead_letters.dead_letter import Filter
from shared.dead_letters.store import DeadLetterStore
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import lags, partition_ends
from shared.runtime.clock import wall_clock

_RETRY: Final = "retry"
_Ends = Mapping[tuple[str, int], int]


class RemainsReader:
    """Asks one side's brokers; belongs to one thread. Raises KafkaException and TimeoutError."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._read_to: _Ends | None = None
        self._letters: dict[str, int] = {}

    def read(self) -> Remains:
        """What is left now. Dead letters are read again only if some were written or replayed since."""
        admin = admin_client(self._bootstrap)
        ends = partition_ends(admin)
        # A group that has moved none of its records yet has committed nothing: they all wait.
        found = {_RETRY: sum(end for (topic, _), end in ends.items() if topic in INPUTS[_RETRY])}
        found |= {each.node: each.records for each in lags(admin) if each.records is not None}
        self._count_letters(ends)
        return Remains(
            lag={node: found[node] for node in CHAIN_GROUPS if node in found},
            retries=found.get(_RETRY, 0),
            dead_letters=self._letters,
        )

    def _count_letters(self, all_ends: _Ends) -> None:
        topics = (Topic.DEAD_LETTER, Topic.REPLAYED)
        ends = {partition: end for partition, end in all_ends.items() if partition[0] in topics}
        if ends == self._read_to:
            return
        with DeadLetterStore(self._bootstrap, {}, wall_clock) as store:
            open_ = (each for each in store.letters(Filter()) if each.key not in store.replayed)
            self._letters = dict(Counter(each.reason.partition(":")[0] for each in open_))
        self._read_to = ends
