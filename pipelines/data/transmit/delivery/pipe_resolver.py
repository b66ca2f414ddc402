"""Resolves a pipe to its destination, connector options, masks and transform, from the configuration."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pipelines.data.transmit.connectors.base import ConnectorType
from shared.connectors.registry import OptionsError, options_of
from shared.contracts.documents import Batch, Catalogue, Destination, Pipe, TenantName
from shared.contracts.expressions import ExpressionError
from shared.contracts.masks import MaskError
from shared.contracts.reasons import INTERNAL
from shared.runtime.logging import get_logger
from shared.transformation.pipe_transform import PipeTransform, transform_of

_log = get_logger(__name__)
_MOST_NAMES: Final = 10_000


@dataclass(frozen=True, slots=True)
class ResolvedPipe:
    """Everything that is needed to send the events of a pipe."""

    pipe: Pipe
    destination: Destination
    options: Any
    """The destination's options, decoded by its connector."""

    transform: PipeTransform | None
    """The pipe's masks and transform; None if it has neither."""

    batch: Batch
    """Limits of one request."""

    problem: str = ""
    """Why nothing can be sent; events are retried later, because a newer version of hifi may know how."""


@dataclass(frozen=True, slots=True)
class UnresolvedPipe:
    """A pipe without a destination, and the reason."""

    reason: str
    newest: bool = False
    """Whether that is so in the newest configuration; otherwise the process may only be behind."""


class PipeResolver:
    """Looks pipes up; for one that is missing it waits until the newest configuration was read.

    Route may know a new pipe a moment before this process does. But the topic had every pipe that route used
    before the event came, so a pipe that is still missing then was deleted. The backlog of a deleted pipe
    slows no other: an event waits only until what is new is read, mostly not at all.
    """

    def __init__(
        self,
        view: Callable[[], Catalogue],
        is_newest: Callable[[], Awaitable[bool]],
        wait_seconds: float,
        connector_types: Mapping[str, ConnectorType[Any]],
    ) -> None:
        """Resolve pipes.

        Args:
            view: the configuration.
            is_newest: waits until the view has all that the configuration's topic had at the call; False if
                that is not so, or not known.
            wait_seconds: how long to wait for that; then it is not known.
            connector_types: by name.
        """
        self._view = view
        self._is_newest = is_newest
        self._wait_seconds = wait_seconds
        self._connector_types = connector_types
        self._resolved: dict[TenantName, ResolvedPipe] = {}

    async def find(self, pipe: TenantName, seconds: float) -> ResolvedPipe | UnresolvedPipe:
        """Resolve a tenant's pipe in so many seconds at most."""
        found = self._look(pipe)
        if isinstance(found, ResolvedPipe):
            return found
        newest = await self._newest_in(min(seconds, self._wait_seconds))
        found = self._look(pipe)
        return replace(found, newest=True) if newest and isinstance(found, UnresolvedPipe) else found

    async def _newest_in(self, seconds: float) -> bool:
        """Whether the view became the newest in time."""
        try:
            async with asyncio.timeout(seconds):
                return await self._is_newest()
        except TimeoutError:
            return False

    def destination_name(self, pipe: TenantName) -> str:
        """The name of the pipe's destination; empty if it has none."""
        known = self._view().pipes.get(pipe)
        return known.destination if known else ""

    def _look(self, pipe: TenantName) -> ResolvedPipe | UnresolvedPipe:
        catalogue = self._view()
        known = catalogue.pipes.get(pipe)
        if known is None:
            return UnresolvedPipe(f"unknown_pipe: there is no pipe {pipe[1]!r}, or it was deleted")
        destination = catalogue.destinations.get((known.tenant, known.destination))
        if destination is None:
            return UnresolvedPipe(
                f"unknown_destination: there is no destination {known.destination!r}, or it was deleted"
            )
        return self._target(known, destination)

    def _target(self, pipe: Pipe, destination: Destination) -> ResolvedPipe:
        """The resolved pipe, cached until one of the two documents changes."""
        known = self._resolved.get((pipe.tenant, pipe.name))
        if known is not None and known.pipe is pipe and known.destination is destination:
            return known
        if len(self._resolved) > _MOST_NAMES:
            self._resolved.clear()
        try:
            made = self._resolve(pipe, destination)
        except Exception as error:  # such as a connector that cannot be imported: the next look may succeed
            _log.exception("pipe not resolved: unexpected error", extra={"tenant": pipe.tenant})
            problem = f"{INTERNAL}: {type(error).__name__}"
            return ResolvedPipe(pipe, destination, None, None, destination.batch, problem)
        self._resolved[pipe.tenant, pipe.name] = made
        return made

    def _resolve(self, pipe: Pipe, destination: Destination) -> ResolvedPipe:
        connector_type = self._connector_types.get(destination.connector)
        spec = connector_type.spec if connector_type else None
        try:
            options = options_of(destination, spec)
            transform = transform_of(pipe)
        except OptionsError as error:
            return ResolvedPipe(pipe, destination, None, None, destination.batch, str(error))
        except (MaskError, ExpressionError) as error:
            problem = f"bad_pipe: masks or transform of pipe {pipe.name!r}: {error}"
            return ResolvedPipe(pipe, destination, None, None, destination.batch, problem)
        assert spec is not None  # or its options could not be decoded
        return ResolvedPipe(pipe, destination, options, transform, spec.batch(options, destination.batch))
