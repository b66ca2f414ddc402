"""Whether collect can take traffic: its configuration is loaded and Kafka answers."""

import asyncio
from typing import Protocol

import msgspec
from msgspec import Struct

from pipelines.data.collect.responses import Response
from shared.contracts.documents import Catalogue
from shared.contracts.topics import Topic
from shared.kafka.producer import AwaitedProducer


class ConfigView(Protocol):
    """The newest configuration, read from the `config` topic."""

    @property
    def loaded(self) -> bool:
        """Whether the topic was read to its end once."""

    @property
    def view(self) -> Catalogue:
        """The documents now."""


_PAUSE_SECONDS = 0.2


class ReadinessReport(Struct, frozen=True):
    """The body of /readyz."""

    ready: bool
    config: bool
    """The configuration is loaded."""

    kafka: bool
    """The brokers answered and acknowledge records."""

    def response(self) -> Response:
        """200 when ready, otherwise 503."""
        return Response(200 if self.ready else 503, msgspec.json.encode(self))


class Readiness:
    """Asks the brokers until they answer once; after that the records of requests show whether they do."""

    def __init__(self, config: ConfigView, producer: AwaitedProducer) -> None:
        self._config = config
        self._producer = producer
        self._answered = False

    async def watch(self) -> None:
        """Run as a task from the start; ends once the brokers answered."""
        while not self._answered:
            self._answered = await self._producer.answers(Topic.COLLECTED)
            await asyncio.sleep(_PAUSE_SECONDS)

    def report(self) -> ReadinessReport:
        """The state now."""
        config, kafka = self._config.loaded, self._answered and not self._producer.stalled
        return ReadinessReport(config and kafka, config, kafka)
