"""Publishes the canary's documents on the `config` topic, unless they are there already."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from shared.contracts.documents import Document, Source
from shared.contracts.publish_plan import Change, PlannedDocument, records, step_of
from shared.kafka.config_topic import publish, read_catalogue

T = TypeVar("T")
_SECONDS: Final = 15.0
"""Timeout of a read or a write."""


class ConfigPublisher:
    """Publishes documents under one client name."""

    def __init__(self, bootstrap: str, client_id: str, live_seconds: float) -> None:
        """A published document is in force after `live_seconds`."""
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._live_seconds = live_seconds

    async def ensure(self, documents: Sequence[Document]) -> None:
        """Return when all of them are published; the source, and so its key, when the rest is in force.

        Raises:
            TimeoutError, PublishError, KafkaException: if the brokers do not answer; try again.
        """
        published = await _aside(lambda: read_catalogue(self._bootstrap, self._client_id, _SECONDS))
        steps = [step_of(document, published) for document in documents]
        changed = [step for step in steps if step.change is not Change.UNCHANGED]
        sources = [step for step in changed if isinstance(step.entry.document, Source)]
        if rest := [step for step in changed if step not in sources]:
            await self._publish(rest)
            await asyncio.sleep(self._live_seconds)
        await self._publish(sources)

    async def _publish(self, steps: Sequence[PlannedDocument]) -> None:
        if steps:
            await _aside(lambda: publish(self._bootstrap, self._client_id, records(steps), _SECONDS))


async def _aside(work: Callable[[], T]) -> T:
    """Run a function on a daemon thread, so that unavailable brokers do not delay a stop."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[T] = loop.create_future()

    def give(settle: Callable[[], None]) -> None:
        if not found.done():
            settle()

    def run() -> None:
        try:
            result = work()
            settle = partial(found.set_result, result)
        except Exception as error:  # handed on
            settle = partial(found.set_exception, error)
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(give, settle)

    threading.Thread(target=run, name="publishing", daemon=True).start()
    return await found
