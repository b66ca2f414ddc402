"""Remembers which write keys are used, and reports it on the topic `key_usage`."""

import asyncio
from collections.abc import Iterator
from typing import Final

from shared.contracts.documents import Source, key_id
from shared.contracts.key_usage import REPORTED_MS, KeyUse, encode
from shared.contracts.topics import Topic
from shared.kafka.producer import AwaitedProducer
from shared.runtime.clock import Clock

_EVERY_SECONDS: Final = 2.0
_MOST: Final = 1_000
"""Keys in one record."""


class KeyUsage:
    """Belongs to the event loop. A report that brokers do not take in time is lost: the next comes later."""

    def __init__(self) -> None:
        self._used: dict[str, KeyUse] = {}
        """Uses since the last report, by digest."""

        self._reported: dict[str, int] = {}
        """The last use in recent reports, by digest."""

    def __len__(self) -> int:
        return len(self._used) + len(self._reported)

    def note(self, source: Source, digest: str, at_ms: int) -> None:
        """A request came with a key."""
        if at_ms - self._reported.get(digest, 0) >= REPORTED_MS:
            self._used[digest] = KeyUse(source.tenant, source.name, key_id(digest), at_ms)

    def report(self, now_ms: int) -> Iterator[bytes]:
        """Values of records with what was used and not reported for a while."""
        used, self._used = self._used, {}
        recent = {digest: at for digest, at in self._reported.items() if now_ms - at < REPORTED_MS}
        self._reported = recent | {digest: each.at_ms for digest, each in used.items()}
        found = list(used.values())
        for at in range(0, len(found), _MOST):
            yield encode(found[at : at + _MOST])


async def reporting(usage: KeyUsage, producer: AwaitedProducer, clock: Clock) -> None:
    """Run as a task: report every two seconds."""
    while True:
        await asyncio.sleep(_EVERY_SECONDS)
        if not producer.stalled:
            producer.offer(Topic.KEY_USAGE, usage.report(clock()))
