"""Resolves a pipe to its destination, connector options, masks and transform, from the configuration."""

import asyncio
import time
from collections.abc import Callable, Mapping
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
_LOOK_SECONDS: Final = 0.05
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
    """Looks pipes up, and waits a little for one that is missing.

    Route may know a new pipe a moment before this process does. A pipe that did not appear, and is missing
    from the newest configuration, is not waited for again until that changes: the backlog of a deleted pipe
    must not slow the others.
    """

    def __init__(
        self,
        view: Callable[[], Catalogue],
        is_newest: Callable[[], bool],
        wait_seconds: float,
        connector_types: Mapping[str, ConnectorType[Any]],
    ) -> None:
        """Resolve pipes.

        Args:
            view: the configuration.
            is_newest: blocks until the view has all that the configuration's topic had at the call, for some
                seconds at most; False if that is not so, or not known. Called on a thread.
            wait_seconds: how long to wait for a pipe before that is asked.
            connector_types: by name.
        """
        self._view = view
        self._is_newest = is_newest
        self._wait_seconds = wait_seconds
        self._connector_types = connector_types
        self._resolved: dict[TenantName, ResolvedPipe] = {}
        self._in_vain: set[TenantName] = set()
        self._in_vain_in: Catalogue | None = None

    async def find(self, pipe: TenantName) -> ResolvedPipe | UnresolvedPipe:
        """Resolve a tenant's pipe."""
        until = time.monotonic() + self._wait_seconds
        while isinstance(found := self._look(pipe), UnresolvedPipe):
            if pipe in self._missing() or time.monotonic() >= until:
                return await self._look_in_newest(pipe)
            await asyncio.sleep(_LOOK_SECONDS)
        return found

    async def _look_in_newest(self, pipe: TenantName) -> ResolvedPipe | UnresolvedPipe:
        newest = await asyncio.to_thread(self._is_newest)
        found = self._look(pipe)
        if isinstance(found, ResolvedPipe) or not newest:
            return found
        self._missing().add(pipe)
        return replace(found, newest=True)

    def _missing(self) -> set[TenantName]:
        """Pipes that are missing from the current configuration."""
        if self._in_vain_in is not self._view() or len(self._in_vain) > _MOST_NAMES:
            self._in_vain, self._in_vain_in = set(), self._view()
        return self._in_vain

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
