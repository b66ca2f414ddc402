"""The side's documents in memory: the one table collect, route and transmit all read."""

from collections.abc import Callable, Mapping

from shared.contracts.documents import Catalogue, Entry, decode_entry
from shared.contracts.topics import Topic
from shared.kafka.global_table import GlobalTable


def config_table(
    bootstrap: str, client_id: str, seen: Callable[[Catalogue], None] = lambda _: None
) -> GlobalTable[Catalogue]:
    """A started table of the `config` topic; `seen` is told of each new catalogue before it is in force."""

    def view(entries: Mapping[bytes, Entry]) -> Catalogue:
        catalogue = Catalogue(entries)
        seen(catalogue)
        return catalogue

    return GlobalTable(
        bootstrap=bootstrap,
        client_id=client_id,
        topic=Topic.CONFIG,
        decode=decode_entry,
        view=view,
    ).start()
