"""Processes that decide on rollouts beside a release, over DynamoDB Local alone, on the test's clock."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from pipelines.control.provision.rollout_activities import RolloutActivities
from pipelines.control.provision.rollout_decider import RolloutDecider
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.documents import Pipe
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import RolloutCard, RolloutPhase, RolloutState, state_key
from shared.dynamodb.activity_register import ActivityRegister, Waits
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.rollout_store import RolloutStore

PLAN = Rollout(steps=[1, 10, 100])
STABLE = Stability(stable=True)
LEASE = 10.0
SIDES = ("blue", "green")
WORKED_ON = "side green is being worked on by its operator"


class WatchedStore(RolloutStore):
    """A store that calls `before` ahead of each write of a state."""

    before: Callable[[], None] = staticmethod(lambda: None)

    def put(self, key: str, state: RolloutState, side: str = "") -> RolloutState | None:
        self.before()
        return super().put(key, state, side)

    def put_guarded(
        self, key: str, state: RolloutState, side: str, guards: Sequence[dict[str, Any]]
    ) -> RolloutState | None:
        self.before()
        return super().put_guarded(key, state, side, guards)


class Process:
    """A provisioner of side blue that decides on rollouts."""

    def __init__(self, rig: "Rig") -> None:
        self._rig, self.store = rig, WatchedStore(rig.table, rig.endpoint)
        self.steps = RolloutActivities(partial(rig.register, f"provision-{uuid4().hex[:8]}"), LEASE)
        self.decider = RolloutDecider(
            side="blue",
            store=self.store,
            documents=DocumentTable(rig.table, rig.endpoint),
            steps=self.steps,
            clock=rig.clock,
        )

    def turn(self) -> None:
        """Run one look."""
        self.decider.let_go()
        self.decider.decide(self._rig.pipes)


class Rig:
    """Pipes of one tenant on two sides; the test sets the meters' answers and the time."""

    def __init__(self, endpoint: str, table: str, pipes: int = 1) -> None:
        self.endpoint, self.table, self.seconds = endpoint, table, 0.0
        self.tenant = f"t{uuid4().hex[:8]}"
        made = [
            Pipe(name=f"p{n}", tenant=self.tenant, source="s", destination="d", rollout=PLAN)
            for n in range(pipes)
        ]
        self.pipes = {state_key(self.tenant, pipe.name): pipe for pipe in made}
        self.store = RolloutStore(table, endpoint)
        self.registers = {side: self.register(f"deploy-{self.tenant}", side) for side in SIDES}
        """The deployer's registers."""

    def clock(self) -> int:
        return 1_000_000 + int(1_000 * self.seconds)

    def register(self, owner: str, side: str) -> ActivityRegister:
        return ActivityRegister(
            self.table,
            self.endpoint,
            side=side,
            owner=owner,
            clock=self.clock,
            monotonic=lambda: self.seconds,
            pause=lambda _: None,
        )

    def due(self, good: int = 1_000) -> None:
        """Let a step's time pass, with good figures from both sides' meters and nothing in the way."""
        self.seconds += PLAN.every_ms / 1_000
        for key, state in self.store.states().items():
            for side in SIDES:
                card = RolloutCard(since_ms=state.since_ms, at_ms=self.clock(), events=1_000, good=good)
                self.store.put_card(key, side, card)

    def begins(
        self, side: str, action: Action = Action.STEP_FORWARD, lease_seconds: float = LEASE
    ) -> Activity | Waits:
        """Let a release begin its next step."""
        return self.registers[side].begin(action, "release 1.4.0", STABLE, lease_seconds=lease_seconds)

    def acting(self) -> list[str]:
        """The activities under way on both sides."""
        return [str(each) for side in SIDES for each in self.registers[side].look().activities]

    def waiting(self) -> list[str]:
        """The wishes on both sides."""
        return [str(each) for side in SIDES for each in self.registers[side].look().wishes]

    def shares(self) -> list[float]:
        """Shares of all pipes."""
        return [state.share for _, state in sorted(self.store.states().items())]

    def state(self) -> RolloutState:
        """State of the only pipe."""
        (state,) = self.store.states().values()
        return state

    def is_at(self, phase: RolloutPhase, share: float, reason: str = "") -> bool:
        """Whether the only pipe is in this phase, at this share, for a reason with these words."""
        found = list(self.store.states().values())
        return [(each.state, each.share, reason in each.reason) for each in found] == [(phase, share, True)]


def begun(rig: Rig) -> Process:
    """A process that has begun the rollouts; their next steps are due."""
    process = Process(rig)
    process.turn()
    rig.due()
    return process
