"""The doing: events sent, sent again, and settled. Runs on the worker's event loop; one object a task."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pipelines.data.transmit.batching import halves, split
from pipelines.data.transmit.connecting import Connectors
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.credentials import BadSecretError
from pipelines.data.transmit.decide import (
    Dead,
    End,
    Outcome,
    Policy,
    RetryNow,
    Situation,
    SlowLane,
    Split,
    decide,
)
from pipelines.data.transmit.events import Event
from pipelines.data.transmit.gates import Gate, Gates, MovedError, NoTurnError, OpenError
from pipelines.data.transmit.output import Settled
from pipelines.data.transmit.parcels import Parcel, Patience, left, part
from pipelines.data.transmit.patience import within
from pipelines.data.transmit.shaping import Shaping
from pipelines.data.transmit.targets import Lost, Target, Targets
from shared.contracts.secrets import UnknownSecretError
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_GRACE_SECONDS: Final = 1.0
"""Past a try's deadline, in which a connector must have answered; a hang in its own code ends here."""

_SILENCE: Final = Answer(error="timeout: the connector gave no answer")


@dataclass(slots=True, kw_only=True)
class Delivery:
    """Delivers what one task was given, and tells of each end through `settle`."""

    targets: Targets
    connectors: Connectors
    shaping: Shaping
    policy: Policy
    deadline: float
    """On the loop's clock."""

    gates: Gates
    patience: Patience
    settle: Callable[[Settled], None]
    clock: Clock
    jitter: Callable[[], float]

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
        if found.shape:
            events = await self._shaped(found, attempt, events, started_ms)
        parcels = [
            Parcel(target=found, attempt=attempt, events=run, started_ms=started_ms)
            for run in split(events, found.batch)
        ]
        await asyncio.gather(*(self._parcel(parcel) for parcel in parcels))

    async def _shaped(
        self, target: Target, attempt: int, events: Sequence[Event], started_ms: int
    ) -> Sequence[Event]:
        """The events as they may leave; those that may not are settled here, each by itself."""

        def parcel(some: Sequence[Event]) -> Parcel:
            return Parcel(target=target, attempt=attempt, events=some, started_ms=started_ms)

        if self.gates.of(target.destination).moved:  # the slow lane shapes them
            self._hand_on(parcel(events))
            return []
        until = min(self.deadline, asyncio.get_running_loop().time() + self.patience.answer)
        shaped = await self.shaping.shape(target, events, until)
        for reason, dead in shaped.dead.items():
            self._bury(target.pipe.name, attempt, dead, reason, started_ms)
        for reason, waiting in shaped.waiting.items():
            self._leave(parcel(waiting), reason)
        if until < self.deadline:
            self._hand_on(parcel(shaped.late))
        else:
            self._leave(parcel(shaped.late), "deadline: no turn for the pipe's masks or transform")
        return shaped.ready

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
        except MovedError:
            self._hand_on(parcel)
        except OpenError as error:
            # Tried in this very task, it failed then; otherwise a short outage must not cost a long wait.
            counted = parcel.tries > 0 or not error.young
            self._leave(parcel, f"breaker_open: {parcel.destination.name!r} is {error}", counted=counted)
        except NoTurnError:
            self._leave(parcel, f"deadline: no turn for {parcel.destination.name!r} before the deadline")
        except TimeoutError:
            self._leave(parcel, f"deadline: {parcel.destination.connector} gave no answer in time")
        except Exception as error:
            _log.exception("request failed unexpectedly", extra={"destination": parcel.destination.name})
            self._leave(parcel, f"internal: {type(error).__name__}")

    async def _until_settled(self, parcel: Parcel) -> None:
        while parcel.events:
            pause = self._judge(parcel, await self._try(parcel), self._local_seconds_left(parcel))
            parts, parcel.halves = parcel.halves, []
            if parts:
                await asyncio.gather(*(self._parcel(part(parcel, events)) for events in parts))
            if parcel.events:
                await asyncio.sleep(pause)

    async def _try(self, parcel: Parcel) -> Sequence[Answer]:
        """One request.

        Raises:
            MovedError: if this lane cannot wait for the destination.
            OpenError: if its breaker is open.
            NoTurnError: if the deadline came before the request's turn.
            TimeoutError: if the connector did not keep to its time.
        """
        loop, gate = asyncio.get_running_loop(), self.gates.of(parcel.destination)
        asked = loop.time()
        if gate.moved:
            raise MovedError
        try:
            turn_until = min(self.deadline, asked + self.patience.turn)
            tokens_until = min(self.deadline, asked + self.patience.answer)
            async with gate.turn(len(parcel.events), turn_until, tokens_until):
                return await self._request(parcel, gate, loop.time() - asked)
        except NoTurnError:
            if turn_until == self.deadline:
                raise
            gate.overdue()
            raise MovedError from None

    async def _request(self, parcel: Parcel, gate: Gate, turn: float) -> Sequence[Answer]:
        loop = asyncio.get_running_loop()
        began, seconds = loop.time(), min(parcel.destination.timeout_seconds, self._seconds_left())
        if seconds <= 0:
            raise NoTurnError
        parcel.tries += 1
        parcel.tried = parcel.tried or began
        try:
            answers, spent = await within(
                self._send(parcel, seconds), min(self.patience.answer, seconds + _GRACE_SECONDS)
            )
        except (UnknownSecretError, BadSecretError) as error:
            return [Answer(error=str(error), later=True)] * len(parcel.events)
        except TimeoutError:
            if self.patience.answer < seconds + _GRACE_SECONDS:
                gate.overdue()
                raise MovedError from None
            gate.ended([_SILENCE], loop.time() - began, turn)
            raise
        gate.ended(answers, spent, turn)
        return answers

    async def _send(self, parcel: Parcel, seconds: float) -> Sequence[Answer]:
        connector = await self.connectors.named(parcel.destination.connector)
        return await connector.send(parcel.destination, parcel.target.options, parcel.events, seconds)

    def _judge(
        self, parcel: Parcel, answers: Sequence[Answer], seconds_left: float, *, counted: bool = True
    ) -> float:
        """Settle what is at an end, keep the rest in the parcel; returns the pause before its next try."""
        now_ms, jitter = self.clock(), self.jitter()
        gate = self.gates.of(parcel.destination)
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
                    closed=gate.breaker.state == "closed",
                    counted=counted,
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
                    self._settle(parcel, events, outcome, answer.status, now_ms)
        parcel.events = again
        return pause

    def _hand_on(self, parcel: Parcel) -> None:
        """To the slow lane, which can wait."""
        events = left(parcel)
        parcel.events = []
        if events:
            self._settle(parcel, events, SlowLane(), None, self.clock())

    def _leave(self, parcel: Parcel, error: str, *, counted: bool = True) -> None:
        """Out of time or out of luck: whatever is left goes to the retry topics."""
        parcel.events = events = left(parcel)
        if events:
            self._judge(parcel, [Answer(error=error)] * len(events), seconds_left=0, counted=counted)

    def _settle(
        self, parcel: Parcel, events: list[Event], outcome: End, status: int | None, now_ms: int
    ) -> None:
        gate = self.gates.of(parcel.destination)
        self.settle(
            Settled(
                events=events,
                outcome=outcome,
                destination=parcel.destination.name,
                pipe=events[0].pipe,
                attempt=parcel.attempt,
                status=status,
                tries=parcel.tries,
                started_ms=parcel.started_ms,
                departed_ms=now_ms,
                breaker=gate.breaker.state,
                lane=gate.pace.lane,
                recovered=gate.recovered,
            )
        )

    def _seconds_left(self) -> float:
        return max(0.0, self.deadline - asyncio.get_running_loop().time())

    def _local_seconds_left(self, parcel: Parcel) -> float:
        now = asyncio.get_running_loop().time()
        local = (parcel.tried or now) + self.patience.local_tries - now
        return max(0.0, min(self._seconds_left(), local))
