"""The side's documents in memory: the one table collect, route and transmit all read."""

from shared.contracts.config import Catalogue, decode_entry
from shared.contracts.topics import Topic
from shared.kafka.table import Table


def config_table(bootstrap: str, client_id: str) -> Table[Catalogue]:
    """A started table of the `config` topic."""
    return Table(
        bootstrap=bootstrap,
        client_id=client_id,
        topic=Topic.CONFIG,
        decode=decode_entry,
        view=Catalogue,
    ).start()
