"""The interface of connectors: send a batch, and return an answer for each of its events."""

from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from pipelines.data.transmit.events import Event
from shared.connectors.spec import ConnectorSpec
from shared.contracts.documents import Destination
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.secrets import Secrets
from shared.runtime.clock import Clock

if TYPE_CHECKING:
    import aiohttp  # answers are made without it
    from aiohttp.abc import AbstractResolver

LARGE_BYTES: Final = 128 * 1024
"""Bytes from which a connector hashes on a thread: hashing then takes longer than handing it over."""

O = TypeVar("O")  # noqa: E741 a connector's Options
O_contra = TypeVar("O_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A destination's answer for an event, or the error."""

    status: int | None = None
    """HTTP status, or the connector's nearest equivalent; None if there was no answer."""

    error: str = ""
    """If there was no answer: a word, a colon and a sentence."""

    retry_after: str | None = None
    """The Retry-After header as received."""

    hopeless: bool = False
    """A retry could never succeed, as with a malformed or refused address."""

    detail: str = ""
    """The destination's error code besides the status; never a sentence, which may contain data."""

    later: bool = False
    """Nothing was sent and an immediate retry would not help, as with a missing secret."""

    cut_short: bool = False
    """There was none because the micro-batch ended first; set by delivery, never by a connector."""

    def describe(self) -> str:
        """A word and a sentence, for the reason of a retry or dead letter."""
        if self.status is None:
            return self.error
        detail = f" ({self.detail})" if self.detail else ""
        return f"{_word(self.status)}: the destination answered {self.status}{detail}"


def _word(status: int) -> str:
    if 300 <= status < 400:
        return "redirect"
    if 400 <= status < 500:
        return "refused"
    return "failed"


class Connector(Protocol[O_contra]):
    """Sends to one type of destination; all destinations of that type share the object."""

    async def send(
        self, destination: Destination, options: O_contra, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """Try to deliver, once.

        Args:
            destination: the destination.
            options: its decoded options.
            events: at least one, within the destination's batch limits.
            seconds: timeout of connect, send and read together.

        Returns:
            One answer for each event, in order. Failures are answers, not exceptions.
        """
        ...

    async def close(self) -> None:
        """Release connections, threads and files."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorContext:
    """The resources that the process gives a connector when it opens it."""

    session: "aiohttp.ClientSession"
    """Enforces `egress` and follows no redirects. The connector must not close it."""

    secrets: Secrets
    egress: EgressPolicy
    resolver: "AbstractResolver"
    """The egress policy, and what resolves names, for connectors that cannot use the session."""

    threads: Executor
    """Runs CPU-bound work that would block the loop, such as compression. Never for waiting."""

    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorType(Generic[O]):
    """A type of destination and its sender, as its module declares it in `CONNECTOR`."""

    spec: ConnectorSpec[O]
    """Its options, and what can be said of them without sending."""

    open: Callable[[ConnectorContext], Awaitable[Connector[O]]]
    """Opens the connector; called once, on the sending loop, for the first destination that needs it."""
