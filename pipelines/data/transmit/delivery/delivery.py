"""Sends the events of a task, retries, and settles them. Runs on the worker's event loop."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from pipelines.data.transmit.admission.answer_time import judged, kept_back, whole_try
from pipelines.data.transmit.admission.gate import Admission, Gate, Moved, NoTurn
from pipelines.data.transmit.admission.turns import Turns
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.http.credentials import BadSecretError
from pipelines.data.transmit.connectors.registry import ConnectorPool
from pipelines.data.transmit.delivery.decide import Dead, End, Policy, Situation
from pipelines.data.transmit.delivery.kafka_rows import SettledEvents, as_read
from pipelines.data.transmit.delivery.outcomes import (
    Answered,
    Failed,
    Outcomes,
    Try,
    TryContext,
    outcomes,
    postponed,
    refused,
)
from pipelines.data.transmit.delivery.pipe_resolver import PipeResolver, UnresolvedPipe
from pipelines.data.transmit.delivery.request_batch import Group, RequestBatch, split
from pipelines.data.transmit.delivery.timeout import Deadline, WaitLimits, within
from pipelines.data.transmit.delivery.transform_executor import TransformExecutor
from pipelines.data.transmit.events import Event
from shared.contracts.reasons import INTERNAL
from shared.contracts.secrets import UnknownSecretError
from shared.runtime.clock import Clock
from shared.runtime.egress import SENDER
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_GRACE_SECONDS: Final = 1.0
"""Time past the deadline after which a connector that has not returned is cancelled."""

_SILENCE: Final = Answer(error="timeout: the connector gave no answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Delivers the events of one task and reports each outcome through `settle`."""

    pipes: PipeResolver
    connectors: ConnectorPool
    transformer: TransformExecutor
    policy: Policy
    deadline: Deadline
    admission: Admission
    turns: Turns
    wait_limits: WaitLimits
    settle: Callable[[SettledEvents], None]
    clock: Clock
    jitter: Callable[[], float]

    async def deliver(self, of: Group, events: Sequence[Event]) -> None:
        """Settle the events of one group by the deadline; raises only when cancelled."""
        started_ms = self.clock()
        found = await self.pipes.find((of.tenant, of.pipe), self._seconds_left())
        if isinstance(found, UnresolvedPipe):
            self._end_unresolved(of, events, found, started_ms)
            return
        # Now, and once: asked later, an older document would replace the gate of a newer one.
        gate = self.admission.of(found.destination)
        with self.turns.under_way():
            await asyncio.sleep(self._pause(events))
        whole = RequestBatch(resolved=found, attempt=of.attempt, events=events, started_ms=started_ms)
        await (self._in_runs(whole, gate) if found.transform else self._all_at_once(whole, gate))

    async def _all_at_once(self, batch: RequestBatch, gate: Gate) -> None:
        """Send events, in as many requests as the destination's limits ask for."""
        requests = split(batch.events, batch.resolved.batch)
        await asyncio.gather(*(self._until_ended(batch.of(events), gate) for events in requests))

    def _pause(self, events: Sequence[Event]) -> float:
        """Seconds until all events may be sent: the rest of a pause that the fast lane had no time for."""
        until_ms = max((event.not_before_ms or 0 for event in events), default=0)
        asked = min((until_ms - self.clock()) / 1000, self.policy.pause_limit)
        return max(0.0, min(asked, self._seconds_left()))

    async def _in_runs(self, batch: RequestBatch, gate: Gate) -> None:
        """Transform and send events in runs that fit in memory, each when the one before is settled."""
        patient = asyncio.get_running_loop().time() + self.wait_limits.answer
        # Asked before the wait, in which the deadline may be extended: the slow lane would move to itself.
        moves = patient < self.deadline.at
        while batch.events:
            if gate.moved:  # the slow lane transforms them
                self._apply(batch, gate, Moved())
                return
            batch = batch.of(await self._run(batch, gate, min(patient, self.deadline.at), moves))

    async def _run(self, batch: RequestBatch, gate: Gate, until: float, moves: bool) -> Sequence[Event]:
        """Transform and send a run, and settle what cannot be transformed; returns the events after it."""
        async with AsyncExitStack() as held:
            with self.turns.under_way():
                run = self.transformer.run(batch.resolved, batch.events, until)
                transformed = await held.enter_async_context(run)
            for reason, dead in transformed.dead.items():
                self._bury(batch.group, dead, reason, batch.started_ms)
            for reason, waiting in transformed.waiting.items():
                self._apply(batch.of(waiting), gate, Failed(reason))
            if transformed.late:
                late = Failed("deadline: no time for the pipe's masks or transform", counted=False)
                self._apply(batch.of(transformed.late), gate, Moved() if moves else late)
            await self._all_at_once(batch.of(transformed.ready), gate)
            return transformed.rest

    async def _until_ended(self, batch: RequestBatch, gate: Gate) -> None:
        """Send a batch, and what is left of it, until all its events are settled."""
        if batch.resolved.problem:
            self._apply(batch, gate, Failed(batch.resolved.problem))
            return
        while batch.events:
            batch, tried = await self._try(batch, gate)
            left = self._apply(batch, gate, tried)
            await asyncio.gather(*(self._until_ended(batch.part(events), gate) for events in left.parts))
            batch = batch.of(left.again)
            if batch.events:
                await asyncio.sleep(left.pause)

    async def _try(self, batch: RequestBatch, gate: Gate) -> tuple[RequestBatch, Try]:
        """Send one request, if its turn comes; gives the batch with this try counted, and the result."""
        loop = asyncio.get_running_loop()
        if gate.moved:
            return batch, Moved()
        asked, latest = loop.time(), self._latest_start(batch, gate)
        turn_until = min(latest, asked + self.wait_limits.turn)
        rate_until = min(latest, asked + self.wait_limits.answer)
        turn = gate.turn(len(batch.events), turn_until, rate_until)
        async with self.turns.at(gate, turn) as refusal:
            if refusal is None and loop.time() < self._latest_start(batch, gate):
                sent = batch.sent(loop.time())
                return sent, await self._request(sent, gate, loop.time() - asked)
        if refusal is not None and not isinstance(refusal, NoTurn):
            return batch, refused(batch, refusal)
        if turn_until < latest:  # or it is the deadline before which no turn came
            gate.overdue()
            return batch, Moved()
        return batch, refused(batch, gate.without_turn(len(batch.events)))

    async def _request(self, batch: RequestBatch, gate: Gate, turn: float) -> Try:
        """Send a request that waited `turn` seconds for its turn."""
        loop = asyncio.get_running_loop()
        began, seconds = loop.time(), min(batch.destination.timeout_seconds, self._seconds_left())
        wait_limits, whole = min(self.wait_limits.answer, seconds + _GRACE_SECONDS), self._whole(batch)
        try:
            answers, spent = await within(self._send(batch, seconds), wait_limits)
            answers = judged(answers, loop.time() - began, seconds, whole)
            gate.ended(answers, spent, turn)
        except (UnknownSecretError, BadSecretError) as error:
            return Answered([Answer(error=str(error), later=True)] * len(batch.events))
        except TimeoutError:
            if self.wait_limits.answer < seconds + _GRACE_SECONDS:
                gate.overdue()
                return Moved()
            took = loop.time() - began
            (silence,) = judged([_SILENCE], took, seconds, whole)
            gate.ended([silence], took, turn)
            counted = batch.tries > 1 or not silence.cut_short
            return Failed(f"deadline: {batch.destination.connector} gave no answer in time", counted)
        except Exception as error:
            named = {"tenant": batch.destination.tenant, "destination": batch.destination.name}
            _log.exception("request failed unexpectedly", extra=named)
            return Failed(f"{INTERNAL}: {type(error).__name__}")
        if len(answers) != len(batch.events):  # a defect of the connector, which must not stop the partition
            return Failed(f"{INTERNAL}: {len(answers)} answers for {len(batch.events)} events")
        return Answered(answers)

    async def _send(self, batch: RequestBatch, seconds: float) -> Sequence[Answer]:
        SENDER.set(batch.destination.tenant)  # of this request's task
        connector = await self.connectors.connector(batch.destination)
        return await connector.send(batch.destination, batch.resolved.options, batch.events, seconds)

    def _apply(self, batch: RequestBatch, gate: Gate, tried: Try) -> Outcomes:
        """Decide the outcomes, settle the events that have ended, and return the decision.

        They are settled as they were read, so that memory for them as they were sent ends here.
        """
        at = TryContext(
            now_ms=self.clock(),
            seconds_left=self._local_seconds_left(batch, gate),
            closed=gate.breaker.state == "closed",
        )
        decided = outcomes(batch, tried, at, self.policy, self.jitter())
        for ended in decided.ended:
            settled = SettledEvents(
                events=ended.events,
                outcome=ended.outcome,
                tenant=batch.destination.tenant,
                destination=batch.destination.name,
                pipe=batch.resolved.pipe.name,
                attempt=batch.attempt,
                status=ended.status,
                tries=batch.tries,
                started_ms=batch.started_ms,
                departed_ms=at.now_ms,
                breaker=gate.breaker.state,
                lane=gate.pace.lane,
                recovered=gate.recovered,
            )
            self.settle(as_read(settled))
        return decided

    def _end_unresolved(
        self, of: Group, events: Sequence[Event], found: UnresolvedPipe, started_ms: int
    ) -> None:
        """Settle events that have no destination, or not yet in this process."""
        if found.newest:
            self._bury(of, events, found.reason, started_ms)
            return
        reason = f"configuration: {found.reason}; whether that is the newest is not known"
        at = Situation(
            events=len(events),
            tries=0,
            attempt=of.attempt,
            first_try_ms=started_ms,
            now_ms=self.clock(),
            seconds_left=0.0,
            counted=False,
        )
        for ended in postponed(events, reason, at, self.policy):
            self._settle_unsent(of, ended.events, ended.outcome, started_ms)

    def _bury(self, of: Group, events: Sequence[Event], reason: str, started_ms: int) -> None:
        """Settle events as dead letters without sending them."""
        self._settle_unsent(of, events, Dead(reason), started_ms)

    def _settle_unsent(self, of: Group, events: Sequence[Event], outcome: End, started_ms: int) -> None:
        self.settle(
            SettledEvents(
                events=events,
                outcome=outcome,
                tenant=of.tenant,
                destination=self.pipes.destination_name((of.tenant, of.pipe)),
                pipe=of.pipe,
                attempt=of.attempt,
                started_ms=started_ms,
                departed_ms=self.clock(),
            )
        )

    def _seconds_left(self) -> float:
        return max(0.0, self.deadline.at - asyncio.get_running_loop().time())

    def _whole(self, batch: RequestBatch) -> float:
        return whole_try(batch.destination.timeout_seconds, self.deadline.seconds)

    def _latest_start(self, batch: RequestBatch, gate: Gate) -> float:
        """When a request may be sent at the latest: one cut short may arrive all the same."""
        return self.deadline.at - kept_back(gate.usual, self._whole(batch))

    def _local_seconds_left(self, batch: RequestBatch, gate: Gate) -> float:
        now = asyncio.get_running_loop().time()
        latest = min((batch.tried or now) + self.wait_limits.local_tries, self._latest_start(batch, gate))
        return max(0.0, latest - now)
