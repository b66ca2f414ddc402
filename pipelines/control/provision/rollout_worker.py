"""Moves rollouts on: writes what this side's meter says, and decides for all sides if it holds the lease."""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from pipelines.control.provision.meter_client import MeterClient
from pipelines.control.provision.rollout_decider import RolloutDecider
from pipelines.control.provision.rollout_decision import side_obstacle
from shared.contracts.diamond.stability import SILENT
from shared.contracts.documents import Pipe
from shared.contracts.rollouts import MOVING, RolloutCard, RolloutState, state_key
from shared.contracts.scorecard import PipeCard
from shared.dynamodb.activity_reader import ActivityReader
from shared.dynamodb.client import StoreError
from shared.dynamodb.renewed_lease import RenewedLease
from shared.dynamodb.rollout_store import RolloutStore
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_REPEAT_MS: Final = 20_000
"""An unchanged card is written again after this long, to show that the meter is alive."""


class RolloutWorker:
    """A thread of its own: a meter that hangs must not hold up what is published."""

    def __init__(  # noqa: PLR0913  # what it reads, what it writes, and the world
        self,
        *,
        side: str,
        store: RolloutStore,
        decider: RolloutDecider,
        meter: MeterClient,
        activities: ActivityReader,
        lease: RenewedLease,
        clock: Clock,
        seconds: float,
    ) -> None:
        """Work when `want` has said on what; `seconds` between two turns."""
        self._side, self._store, self._decider = side, store, decider
        self._meter, self._activities = meter, activities
        self._lease, self._clock, self._seconds = lease, clock, seconds
        self._wanted: Sequence[Pipe] | None = None
        self._written: dict[str, RolloutCard] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rollouts", daemon=True)

    def start(self) -> None:
        """Start; returns at once."""
        self._lease.start()
        self._thread.start()

    def stop(self) -> None:
        """End the thread and give up the lease."""
        self._stopping.set()
        self._thread.join()
        self._lease.stop()

    def want(self, pipes: Sequence[Pipe] | None) -> None:
        """The pipes that have a rollout; None while this process does not lead its side."""
        self._wanted = pipes

    def _run(self) -> None:
        while not self._stopping.wait(self._seconds):
            try:
                self._turn()
            except StoreError as error:
                _log.warning("rollouts wait: the table cannot be used", extra={"error": str(error)})
            except Exception:  # the next turn reads everything again
                _log.exception("rollouts wait: unexpected error")

    def _turn(self) -> None:
        self._decider.let_go()  # also of a process that does not decide any more
        wanted = self._wanted
        if wanted is None:
            self._lease.give_up()
            return
        pipes = {state_key(pipe.tenant, pipe.name): pipe for pipe in wanted}
        if self._lease.held():
            self._decider.decide(pipes)
        self._report(pipes)

    def _report(self, pipes: Mapping[str, Pipe]) -> None:
        """Write what this side's meter says of the steps that go on."""
        moving = {key: state for key, state in self._moving(pipes).items() if key in pipes}
        self._written = {key: card for key, card in self._written.items() if key in moving}
        health = self._meter.stability() if moving else SILENT
        if health.silent:
            return
        obstacle = side_obstacle(self._activities.look().activities, health)
        for key, state in moving.items():
            found = self._meter.pipe(pipes[key].tenant, pipes[key].name, state.since_ms)
            if found is not None:
                self._put(key, self._card(state, found, obstacle))

    def _card(self, state: RolloutState, found: PipeCard, obstacle: str) -> RolloutCard:
        return RolloutCard(
            since_ms=state.since_ms,
            at_ms=self._clock(),
            events=found.events,
            good=found.good,
            dead=found.dead,
            obstacle=obstacle,
        )

    def _put(self, key: str, card: RolloutCard) -> None:
        if self._tells(key, card):
            self._store.put_card(key, self._side, card)
            self._written[key] = card

    def _moving(self, pipes: Mapping[str, Pipe]) -> Mapping[str, RolloutState]:
        if not pipes:
            return {}
        return {key: state for key, state in self._store.states().items() if state.state in MOVING}

    def _tells(self, key: str, card: RolloutCard) -> bool:
        """Whether a card says more than the one written last."""
        former = self._written.get(key)
        if former is None or card.at_ms - former.at_ms >= _REPEAT_MS:
            return True
        return replace(card, at_ms=former.at_ms) != former
