"""Applies masks and transforms on a separate thread, in short turns, in bounded time and memory.

A transform runs until its step budget is used up. On the event loop it would delay all destinations; on a
thread it only competes for the interpreter. The turns of several pipes alternate, and a tenant with
costly pipes waits for the others'.

An event may grow a thousandfold. So a turn first reserves the bytes by which its events may grow, and what
they have grown by stays taken until they are settled. Tenants share these bytes as they share connections.
A run waits for bytes only while it holds none, so no two can wait for each other.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from pipelines.data.transmit.delivery.fair_executor import FairExecutor
from pipelines.data.transmit.events import Event
from shared.contracts.limits import MAX_EVENT_BYTES
from shared.contracts.reasons import INTERNAL
from shared.contracts.secrets import Secrets, UnknownSecretError, mask_secret
from shared.runtime.fair_share import FairShare
from shared.runtime.logging import get_logger
from shared.transformation.pipe_transform import PipeTransform, TransformError

if TYPE_CHECKING:
    from pipelines.data.transmit.delivery.pipe_resolver import ResolvedPipe

_log = get_logger(__name__)
_TURN_SECONDS: Final = 0.01

_RUNS: Final = 8
"""A run ends when it has grown by this part of all bytes: eight requests of the usual size fit in it."""

_TURNS: Final = 64
"""A turn reserves this part of them, or what two events may become."""


@dataclass(slots=True)
class Transformed:
    """The result of transforming some events; failed ones by reason."""

    ready: list[Event] = field(default_factory=list)
    dead: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    waiting: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    late: Sequence[Event] = ()
    """Events for which there was no time."""

    rest: Sequence[Event] = ()
    """Events for the next run, for which there was no memory."""

    grown: int = 0
    """Bytes by which the ready ones are larger than they were."""


class TransformExecutor:
    """One thread that transforms the events of all pipes."""

    def __init__(self, secrets: Secrets, most_bytes: int) -> None:
        """`most_bytes`: by which all events under way may have grown together."""
        self._secrets = secrets
        self._thread = FairExecutor("transforms", time.monotonic)
        self._bytes = FairShare(most_bytes)
        self._turn_bytes = min(most_bytes, max(most_bytes // _TURNS, 2 * MAX_EVENT_BYTES))
        self._run_bytes = max(most_bytes // _RUNS, self._turn_bytes)

    @asynccontextmanager
    async def run(
        self, resolved: "ResolvedPipe", events: Sequence[Event], until: float
    ) -> AsyncIterator[Transformed]:
        """Transform events of one pipe, until `until` on the loop's clock or until they have grown too much.

        They are under way until the block ends.
        """
        transformed = Transformed()
        try:
            await self._transform(resolved, events, until, transformed)
            yield transformed
        finally:
            self._bytes.give_back(resolved.pipe.tenant, transformed.grown)

    async def _transform(
        self, resolved: "ResolvedPipe", events: Sequence[Event], until: float, transformed: Transformed
    ) -> None:
        transform, tenant, loop = resolved.transform, resolved.pipe.tenant, asyncio.get_running_loop()
        if transform is None:
            transformed.ready += events
            return
        try:
            key = self._key(tenant) if transform.hashes else b""
        except UnknownSecretError as error:
            transformed.waiting[str(error)] += events
            return
        at = 0
        while at < len(events) and loop.time() < until:
            if transformed.grown and not self._may_grow(tenant, transformed):
                transformed.rest = events[at:]
                return
            turn = _Turn(transform, events[at:], key, until, self._turn_bytes)
            at += await self._take_turn(tenant, turn, transformed)
        transformed.late = events[at:]

    def _may_grow(self, tenant: str, transformed: Transformed) -> bool:
        """Whether the run may have another turn at once; it does not wait for one while it holds bytes."""
        return transformed.grown < self._run_bytes and self._bytes.at_once(tenant, self._turn_bytes)

    async def _take_turn(self, tenant: str, turn: "_Turn", transformed: Transformed) -> int:
        """Wait for bytes and for the thread; returns how many events were transformed."""
        try:
            async with asyncio.timeout_at(turn.until):
                await self._bytes.take(tenant, self._turn_bytes)
        except TimeoutError:
            return 0
        grown = 0
        try:
            work = partial(_transformed, turn, transformed)
            done, grown = await asyncio.wrap_future(self._thread.submit(tenant, work))
        finally:
            transformed.grown += grown
            self._bytes.give_back(tenant, self._turn_bytes - grown)
        return done

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


@dataclass(frozen=True, slots=True)
class _Turn:
    """Some work of the thread."""

    transform: PipeTransform
    events: Sequence[Event]
    key: bytes
    until: float
    most_bytes: int
    """Most bytes by which the events may grow; the first event may always."""


def _transformed(turn: _Turn, transformed: Transformed) -> tuple[int, int]:
    """Transform events until the turn is over: how many, and by how many bytes they grew.

    None if it comes after `until`: the turns of other pipes come first, each of which may take as long as one
    costly event.
    """
    if time.monotonic() >= turn.until:  # the loop's clock
        return 0, 0
    over, grown = time.monotonic() + _TURN_SECONDS, 0
    for done, event in enumerate(turn.events, 1):
        grown += _transform_one(turn, event, transformed)
        if time.monotonic() >= over or (grown and grown + MAX_EVENT_BYTES > turn.most_bytes):
            return done, min(grown, turn.most_bytes)
    return len(turn.events), grown


def _transform_one(turn: _Turn, event: Event, transformed: Transformed) -> int:
    """Transform one event; returns by how many bytes it grew."""
    try:
        ready = turn.transform.apply(event, turn.key)
    except TransformError as error:
        transformed.dead[str(error)].append(event)
        return 0
    except Exception as error:  # a defect; its text may contain an event's data
        _log.error("masks or transform failed unexpectedly", extra={"error": type(error).__name__})
        transformed.waiting[f"{INTERNAL}: {type(error).__name__}"].append(event)
        return 0
    transformed.ready.append(ready)
    return 0 if ready is event else max(0, ready.size - event.size)
