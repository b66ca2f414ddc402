"""Whether collect may get traffic: its configuration is loaded and Kafka answers."""

import asyncio

import msgspec
from msgspec import Struct

from pipelines.data.collect.config_view import Documents
from pipelines.data.collect.responses import Reply
from shared.contracts.topics import Topic
from shared.kafka.producer import AwaitedProducer

_PAUSE_SECONDS = 0.2


class Report(Struct, frozen=True):
    """What /readyz says."""

    ready: bool
    config: bool
    """The configuration was read to its end."""

    kafka: bool
    """The brokers answered, and confirm what they are given."""

    def reply(self) -> Reply:
        """200 when ready, otherwise 503."""
        return Reply(200 if self.ready else 503, msgspec.json.encode(self))


class Readiness:
    """Asks the brokers until they answer once; from then on the requests' own records tell."""

    def __init__(self, documents: Documents, producer: AwaitedProducer) -> None:
        self._documents = documents
        self._producer = producer
        self._answered = False

    async def watch(self) -> None:
        """Run as a task from the start; ends when the brokers answered."""
        while not self._answered:
            self._answered = await self._producer.answers(Topic.COLLECTED)
            await asyncio.sleep(_PAUSE_SECONDS)

    def report(self) -> Report:
        """The state now."""
        config, kafka = self._documents.loaded, self._answered and not self._producer.stalled
        return Report(config and kafka, config, kafka)
