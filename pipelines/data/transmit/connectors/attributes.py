"""CloudEvents attributes of an event, for destinations that carry them beside the data. Pure."""

from typing import Final

import msgspec

from pipelines.data.transmit.events import Event

PARTITION_KEY: Final = "partitionkey"
"""CloudEvents' partitioning extension."""

_decoder: Final = msgspec.json.Decoder(dict[str, str])


def attributes_of(event: Event) -> dict[str, str]:
    """The attributes by name, as they leave hifi."""
    return _decoder.decode(event.attributes)


def partition_key(event: Event, attributes: dict[str, str]) -> str:
    """What decides an event's shard or partition: the attribute `partitionkey`, else its id.

    So a repeat goes where the first copy went.
    """
    return attributes.get(PARTITION_KEY) or event.id
