"""The doing: events sent, sent again, and settled. Runs on the worker's event loop; one object a task."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pipelines.data.transmit.batching import halves, split
from pipelines.data.transmit.connecting import Connectors
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.decide import Dead, End, Outcome, Policy, RetryNow, Situation, Split, decide
from pipelines.data.transmit.events import Event
from pipelines.data.transmit.output import Settled
from pipelines.data.transmit.targets import Lost, Target, Targets
from shared.contracts.config import Destination
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_GRACE_SECONDS: Final = 1.0
"""Past a try's deadline, in which a connector must have answered; a hang in its own code ends here."""


class NoTurnError(Exception):
    """The deadline came before the request could be made."""


@dataclass(slots=True, kw_only=True)
class Parcel:
    """Events on their way in one request, and what is known of them."""

    target: Target
    attempt: int
    events: Sequence[Event]
    """Those not settled yet."""

    started_ms: int
    tries: int = 0
    halves: list[Sequence[Event]] = field(default_factory=list)

    @property
    def destination(self) -> Destination:
        """Where they go."""
        return self.target.destination


@dataclass(slots=True, kw_only=True)
class Delivery:
    """Delivers what one task was given, and tells of each end through `settle`."""

    targets: Targets
    connectors: Connectors
    policy: Policy
    deadline: float
    """On the loop's clock."""

    requests_per_destination: int
    settle: Callable[[Settled], None]
    clock: Clock
    jitter: Callable[[], float]
    _slots: dict[str, asyncio.Semaphore] = field(default_factory=dict)

    async def deliver(self, pipe: str, attempt: int, events: Sequence[Event]) -> None:
        """Bring events of one pipe to an end, by the deadline; does not raise but when cancelled."""
        started_ms = self.clock()
        found = await self.targets.find(pipe)
        if isinstance(found, Lost):
            self._bury(pipe, attempt, events, found.reason, started_ms)
            return
        # A name may have changed hands while its events were on their way.
        tenant = found.destination.tenant
        foreign = [event for event in events if event.tenant not in (None, tenant)]
        if foreign:
            self._bury(pipe, attempt, foreign, f"foreign: pipe {pipe!r} is another tenant's now", started_ms)
            events = [event for event in events if event.tenant in (None, tenant)]
        runs = split(events, found.destination.batch)
        await asyncio.gather(
            *(
                self._parcel(Parcel(target=found, attempt=attempt, events=run, started_ms=started_ms))
                for run in runs
            )
        )

    def _bury(self, pipe: str, attempt: int, events: Sequence[Event], reason: str, started_ms: int) -> None:
        self.settle(
            Settled(
                events=list(events),
                outcome=Dead(reason),
                destination=self.targets.name(pipe),
                pipe=pipe,
                attempt=attempt,
                started_ms=started_ms,
                departed_ms=self.clock(),
            )
        )

    async def _parcel(self, parcel: Parcel) -> None:
        if parcel.target.problem:
            self._leave(parcel, parcel.target.problem)
            return
        try:
            await self._until_settled(parcel)
        except NoTurnError:
            self._leave(parcel, f"deadline: no turn for {parcel.destination.name!r} before the deadline")
        except TimeoutError:
            self._leave(parcel, f"deadline: {parcel.destination.connector} gave no answer in time")
        except Exception as error:
            _log.exception("request failed unexpectedly", extra={"destination": parcel.destination.name})
            self._leave(parcel, f"internal: {type(error).__name__}")

    async def _until_settled(self, parcel: Parcel) -> None:
        while parcel.events:
            pause = self._judge(parcel, await self._try(parcel), self._seconds_left())
            parts, parcel.halves = parcel.halves, []
            if parts:
                await asyncio.gather(*(self._parcel(_part(parcel, events)) for events in parts))
            if parcel.events:
                await asyncio.sleep(pause)

    async def _try(self, parcel: Parcel) -> Sequence[Answer]:
        """One request.

        Raises:
            NoTurnError: if the deadline came before the request's turn.
            TimeoutError: if the connector did not keep to its time.
        """
        name = parcel.destination.name
        slot = self._slots.setdefault(name, asyncio.Semaphore(self.requests_per_destination))
        try:
            async with asyncio.timeout_at(self.deadline):
                await slot.acquire()
        except TimeoutError as error:
            raise NoTurnError from error
        try:
            seconds = min(parcel.destination.timeout_seconds, self._seconds_left())
            if seconds <= 0:
                raise NoTurnError
            parcel.tries += 1
            async with asyncio.timeout(seconds + _GRACE_SECONDS):
                connector = await self.connectors.named(parcel.destination.connector)
                return await connector.send(parcel.destination, parcel.target.options, parcel.events, seconds)
        finally:
            slot.release()

    def _judge(self, parcel: Parcel, answers: Sequence[Answer], seconds_left: float) -> float:
        """Settle what is at an end, keep the rest in the parcel; returns the pause before its next try."""
        now_ms, jitter = self.clock(), self.jitter()
        groups: dict[tuple[Answer, Outcome], list[Event]] = defaultdict(list)
        memo: dict[tuple[Answer, int], Outcome] = {}
        for event, answer in zip(parcel.events, answers, strict=True):
            first_ms = parcel.started_ms if event.first_try_ms is None else event.first_try_ms
            outcome = memo.get((answer, first_ms))
            if outcome is None:
                at = Situation(
                    events=len(parcel.events),
                    tries=parcel.tries,
                    attempt=parcel.attempt,
                    first_try_ms=first_ms,
                    now_ms=now_ms,
                    seconds_left=seconds_left,
                )
                outcome = memo[answer, first_ms] = decide(answer, at, self.policy, jitter)
            groups[answer, outcome].append(event)
        return self._act(parcel, groups, now_ms)

    def _act(
        self, parcel: Parcel, groups: Mapping[tuple[Answer, Outcome], list[Event]], now_ms: int
    ) -> float:
        again: list[Event] = []
        pause = 0.0
        for (answer, outcome), events in groups.items():
            match outcome:
                case RetryNow():
                    again += events
                    pause = max(pause, outcome.pause)
                case Split():
                    parcel.halves += halves(events) if len(events) > 1 else [events]
                case _:
                    self.settle(_settled(parcel, events, outcome, answer.status, now_ms))
        parcel.events = again
        return pause

    def _leave(self, parcel: Parcel, error: str) -> None:
        """Out of time or out of luck: whatever is left goes to the retry topics."""
        events = [*parcel.events, *(event for part in parcel.halves for event in part)]
        parcel.events, parcel.halves = events, []
        if events:
            self._judge(parcel, [Answer(error=error)] * len(events), seconds_left=0)

    def _seconds_left(self) -> float:
        return max(0.0, self.deadline - asyncio.get_running_loop().time())


def _part(parcel: Parcel, events: Sequence[Event]) -> Parcel:
    return Parcel(
        target=parcel.target,
        attempt=parcel.attempt,
        events=events,
        started_ms=parcel.started_ms,
        tries=parcel.tries - 1,  # to split is not a failed try
    )


def _settled(parcel: Parcel, events: list[Event], outcome: End, status: int | None, now_ms: int) -> Settled:
    return Settled(
        events=events,
        outcome=outcome,
        destination=parcel.destination.name,
        pipe=events[0].pipe,
        attempt=parcel.attempt,
        status=status,
        tries=parcel.tries,
        started_ms=parcel.started_ms,
        departed_ms=now_ms,
    )
