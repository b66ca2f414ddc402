"""What every connector promises: send a batch, answer for each of its events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.data.transmit.events import Event
from shared.contracts.config import Destination


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

    def describe(self) -> str:
        """A word and a sentence, for people who look at a retry or a dead letter."""
        if self.status is None:
            return self.error
        return f"{_word(self.status)}: the destination answered {self.status}"


def _word(status: int) -> str:
    if 300 <= status < 400:
        return "redirect"
    if 400 <= status < 500:
        return "refused"
    return "failed"


class Connector(Protocol):
    """One kind of destination: one file in this folder, one class, one line in `worker.connectors`."""

    async def send(
        self, destination: Destination, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """Try to deliver, once.

        Args:
            destination: where to.
            events: at least one, within the destination's batch limits.
            seconds: the try is over, connect, send and read included, when these have passed.

        Returns:
            One answer for each event, in order. What goes wrong is an answer, not an exception.
        """
        ...
