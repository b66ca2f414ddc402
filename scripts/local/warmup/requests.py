"""The warm-up's requests: single events and batches, about 1,500 events per second."""

import asyncio
import itertools
import time
from collections.abc import Set as AbstractSet
from typing import Final

import aiohttp
import msgspec

_SINGLES_PER_SECOND: Final = 600
_BATCHES_PER_SECOND: Final = 9
_BATCH_EVENTS: Final = 100
_MAX_OPEN: Final = 256
_GIVEN_UP_SECONDS: Final = 30.0
_PADDING: Final = "x" * 300


class SyntheticLoad:
    """Sends events with an id that starts with the time they were made, as `WarmUpReceiver` expects."""

    def __init__(self, session: aiohttp.ClientSession, url: str, most_in_flight: int) -> None:
        """No request is started while so many events or more are on their way."""
        self._session = session
        self._url = url
        self._most_in_flight = most_in_flight
        self._numbers = itertools.count()
        self._acknowledged: set[str] = set()
        self._in_flight: dict[str, float] = {}
        """When each event was sent; without those that are known to have arrived, or were refused."""

        self._elapsed = 0.0
        self._open: set[asyncio.Task[None]] = set()
        self._sent = {1: 0, _BATCH_EVENTS: 0}
        self._answered = self._unanswered = 0

    def catch_up(self, elapsed: float, arrived: AbstractSet[str]) -> None:
        """Start the requests due `elapsed` seconds after the start; a slow chain gets fewer.

        Args:
            elapsed: seconds.
            arrived: ids of the events that have arrived, of others too.
        """
        self._elapsed = elapsed
        room = _MAX_OPEN - len(self._open) if self._on_their_way(arrived) < self._most_in_flight else 0
        for size, rate in ((1, _SINGLES_PER_SECOND), (_BATCH_EVENTS, _BATCHES_PER_SECOND)):
            due = int(elapsed * rate)
            for _ in range(min(due - self._sent[size], room)):
                task = asyncio.ensure_future(self.send(size))
                self._open.add(task)
                task.add_done_callback(self._open.discard)
            self._sent[size] = due

    def _on_their_way(self, arrived: AbstractSet[str]) -> int:
        """How many events are; not those that take so long that they wait for another try, or never come."""
        since = self._elapsed - _GIVEN_UP_SECONDS
        self._in_flight = {
            event: at for event, at in self._in_flight.items() if at >= since and event not in arrived
        }
        return len(self._in_flight)

    def hold(self, elapsed: float) -> None:
        """Send none of the requests that were due by `elapsed` seconds after the start."""
        self._sent = {
            1: int(elapsed * _SINGLES_PER_SECOND),
            _BATCH_EVENTS: int(elapsed * _BATCHES_PER_SECOND),
        }

    @property
    def requests(self) -> tuple[int, int]:
        """Requests that were answered, refused ones too; and these with those that are not answered yet."""
        return self._answered, self._answered + self._unanswered

    def outstanding(self, arrived: AbstractSet[str]) -> bool:
        """Whether a request is open or an acknowledged event has not arrived."""
        return bool(self._open or self._acknowledged - arrived)

    async def send(self, size: int) -> None:
        """Send a request with so many events; failures are ignored, as these are not a customer's events."""
        events = [_event(next(self._numbers)) for _ in range(size)]
        ids = [str(event["id"]) for event in events]
        self._in_flight |= dict.fromkeys(ids, self._elapsed)
        kind = "application/cloudevents+json" if size == 1 else "application/cloudevents-batch+json"
        body = msgspec.json.encode(events[0] if size == 1 else events)
        self._unanswered += 1
        try:
            taken = await self._post(kind, body)
        finally:
            self._unanswered -= 1
            self._answered += 1
        if taken:
            self._acknowledged.update(ids)
        else:
            for event in ids:
                self._in_flight.pop(event, None)

    async def _post(self, kind: str, body: bytes) -> bool:
        """Whether a request was answered with success."""
        try:
            async with self._session.post(self._url, data=body, headers={"Content-Type": kind}) as reply:
                return reply.status == 202
        except (aiohttp.ClientError, TimeoutError):
            return False


def _event(number: int) -> dict[str, object]:
    return {
        "specversion": "1.0",
        "id": f"{time.time_ns() // 1_000_000}-{number}",
        "source": "/hifi-warm-up",
        "type": "hifi.warm-up",
        "data": {"number": number, "padding": _PADDING},
    }
