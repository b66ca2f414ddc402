"""Applies masks and transforms on a separate thread, in short turns and for a bounded time.

A transform runs until its step budget is used up. On the event loop it would delay all destinations; on a
thread it only competes for the interpreter. The turns of several pipes alternate, and a tenant with
costly pipes waits for the others'.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from pipelines.data.transmit.delivery.fair_executor import FairExecutor
from pipelines.data.transmit.events import Event
from shared.contracts.secrets import Secrets, UnknownSecretError, mask_secret
from shared.runtime.logging import get_logger
from shared.transformation.pipe_transform import PipeTransform, TransformError

if TYPE_CHECKING:
    from pipelines.data.transmit.delivery.pipe_resolver import ResolvedPipe

_log = get_logger(__name__)
_TURN_SECONDS: Final = 0.01


@dataclass(slots=True)
class Transformed:
    """The result of transforming events; failed ones by reason."""

    ready: list[Event] = field(default_factory=list)
    dead: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    waiting: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    late: Sequence[Event] = ()
    """Events for which there was no time."""


class TransformExecutor:
    """One thread that transforms the events of all pipes."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._thread = FairExecutor("transforms", time.monotonic)

    async def transform(self, resolved: "ResolvedPipe", events: Sequence[Event], until: float) -> Transformed:
        """Transform events of one pipe, until `until` on the loop's clock."""
        transform, transformed, loop = resolved.transform, Transformed(), asyncio.get_running_loop()
        if transform is None:
            return Transformed(ready=list(events))
        try:
            key = self._key(resolved.pipe.tenant) if transform.hashes else b""
        except UnknownSecretError as error:
            transformed.waiting[str(error)] += events
            return transformed
        at = 0
        while at < len(events):
            if loop.time() >= until:
                transformed.late = events[at:]
                break
            turn = partial(_turn, transform, events[at:], key, transformed, until)
            at += await asyncio.wrap_future(self._thread.submit(resolved.pipe.tenant, turn))
        return transformed

    def close(self) -> None:
        """End the thread."""
        self._thread.close()

    def _key(self, tenant: str) -> bytes:
        """The tenant's key for hashes.

        Raises:
            UnknownSecretError: if it is missing or empty.
        """
        reference = mask_secret(tenant)
        if not (key := self._secrets.get(reference).encode()):
            raise UnknownSecretError(reference)
        return key


def _turn(
    transform: PipeTransform, events: Sequence[Event], key: bytes, transformed: Transformed, until: float
) -> int:
    """Transform events until the turn is over; returns how many: none if it comes after `until`.

    The turns of other pipes come first, each of which may take as long as one costly event.
    """
    if time.monotonic() >= until:  # the loop's clock
        return 0
    over = time.monotonic() + _TURN_SECONDS
    for done, event in enumerate(events, 1):
        try:
            transformed.ready.append(transform.apply(event, key))
        except TransformError as error:
            transformed.dead[str(error)].append(event)
        except Exception as error:  # a defect; its text may contain an event's data
            _log.error("masks or transform failed unexpectedly", extra={"error": type(error).__name__})
            transformed.waiting[f"internal: {type(error).__name__}"].append(event)
        if time.monotonic() >= over:
            return done
    return len(events)
