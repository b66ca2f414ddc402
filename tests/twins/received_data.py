"""Whether generated telemetry arrives with the data that was sent, byte for byte."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from scripts.load.telemetry import POOL, Telemetry


class _Event(msgspec.Struct):
    id: str
    data: msgspec.Raw


_decoder: Final = msgspec.json.Decoder(list[_Event])


class ReceivedData:
    """Filled by a receiver's thread, with requests in the webhook connector's format `batch`."""

    def __init__(self) -> None:
        pool = _decoder.decode(Telemetry("any").take(POOL, 0).body)
        self._sent = [bytes(each.data) for each in pool]
        self._wrong: set[str] = set()
        self.changed = 0
        """Arrivals with other bytes."""

    @property
    def wrong(self) -> Sequence[str]:
        """Events that last arrived with other bytes, which a destination with a primary key would keep."""
        return sorted(self._wrong)

    def take(self, _: str, body: bytes, __: Mapping[str, str]) -> None:
        """Handles the receiver's `on_body`."""
        for event in _decoder.decode(body):
            number = int(event.id.rpartition("-")[2])
            if bytes(event.data) == self._sent[number % POOL]:
                self._wrong.discard(event.id)
            else:
                self.changed += 1
                self._wrong.add(event.id)
