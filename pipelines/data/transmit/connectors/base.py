"""What every connector promises: send a batch, answer for each of its events."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pipelines.data.transmit.events import Event
from shared.contracts.documents import Batch, Destination
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.secrets import Secrets
from shared.runtime.clock import Clock

if TYPE_CHECKING:
    import aiohttp  # who only reads options need not wait for it

O = TypeVar("O")  # noqa: E741 a connector's Options
O_contra = TypeVar("O_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a destination said about an event, or what went wrong."""

    status: int | None = None
    """HTTP status, or a connector's nearest equivalent; None where no answer came."""

    error: str = ""
    """Where no answer came: a word, a colon, a sentence."""

    retry_after: str | None = None
    """The Retry-After header as received."""

    hopeless: bool = False
    """The same try could never succeed: a malformed address, a refused one."""

    detail: str = ""
    """The destination's own word for what is wrong, beside the status; no sentence: it may hold data."""

    later: bool = False
    """Nothing was sent, and to try again at once would change nothing: a secret is missing."""

    def describe(self) -> str:
        """A word and a sentence, for people who look at a retry or a dead letter."""
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
    """One kind of destination, open: all destinations of that kind share the object."""

    async def send(
        self, destination: Destination, options: O_contra, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """Try to deliver, once.

        Args:
            destination: where to.
            options: the destination's, decoded.
            events: at least one, within the destination's batch limits.
            seconds: the try is over, connect, send and read included, when these have passed.

        Returns:
            One answer for each event, in order. What goes wrong is an answer, not an exception.
        """
        ...

    async def close(self) -> None:
        """Give up what it holds: connections, threads, files."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorContext:
    """What a connector is given by the process that opens it."""

    session: "aiohttp.ClientSession"
    """Guarded: dials nothing beyond `egress`, follows nothing by itself. Not the connector's to close."""

    secrets: Secrets
    egress: EgressPolicy
    """What may be dialled, for those that cannot dial through the session."""

    clock: Clock


PathText = tuple[str, str]
"""A path below a destination's options (`$.url`), and something about it."""


def _nothing(_: Any) -> Iterable[PathText]:
    return ()


def _as_asked(_: Any, limits: Batch) -> Batch:
    return limits


def _no_words(_: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorType(Generic[O]):
    """One kind of destination, as its file declares it in `CONNECTOR`."""

    options: type[O]
    """A msgspec Struct; the description of a field (`Meta`) is the mend that `hifi apply` gives."""

    open: Callable[[ConnectorContext], Awaitable[Connector[O]]]
    """Called on the loop that will send, once, when the first destination needs it."""

    batch: Callable[[O, Batch], Batch] = _as_asked
    """What one request may carry, of what the destination's `batch` allows. Pure."""

    faults: Callable[[O], Iterable[PathText]] = _nothing
    """What `hifi apply` refuses beyond the types: path and sentence. Pure."""

    hosts: Callable[[O], Iterable[PathText]] = _nothing
    """What will be dialled: path and host, so that `hifi apply` can refuse a plain inner address. Pure."""

    summary: Callable[[O], str] = _no_words
    """Where events go, in a few words, for a list of destinations. Pure."""
