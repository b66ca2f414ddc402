"""The decision of one look for a pipe's rollout, and whether it is a step up. Pure."""

from collections.abc import Mapping, Sequence
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from pipelines.control.provision.rollout_decision import Evidence, decided, evidence, living_sides
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import RolloutCard, RolloutState, standing


class Move(Struct, frozen=True, kw_only=True):
    """A rollout's move from one state to the next, which may be the same."""

    key: str
    """`state_key` of the pipe."""

    rollout: Rollout
    former: RolloutState | None
    """The state that the table has."""

    state: RolloutState
    """The one that holds."""

    known: Evidence
    sides: frozenset[str]
    """Those that publish the pipe, as far as their meters say."""

    after: RolloutState

    @property
    def rises(self) -> bool:
        """Whether it is a step up. A pipe's first share is not one: nodes get it with the pipe."""
        return self.after.step > self.state.step

    def waiting(self, obstacle: str, now_ms: int) -> Self:
        """The same pipe if something is in the way of a step up."""
        known = replace(self.known, obstacle=obstacle)
        return replace(self, known=known, after=decided(self.rollout, self.state, known, now_ms))


def moved(
    key: str,
    rollout: Rollout,
    former: RolloutState | None,
    cards: Mapping[str, RolloutCard],
    now_ms: int,
) -> Move:
    """The move of a rollout now, which may be to the same state.

    Args:
        key: `state_key` of the pipe.
        rollout: what its document says.
        former: how far it is, as it is in the table.
        cards: the newest of each side.
        now_ms: now, epoch milliseconds.
    """
    state = standing(rollout, former, now_ms)
    known = evidence(state, cards, now_ms)
    return Move(
        key=key,
        rollout=rollout,
        former=former,
        state=state,
        known=known,
        sides=living_sides(cards, now_ms),
        after=decided(rollout, state, known, now_ms) if state is former else state,
    )


def shown_steps(moves: Sequence[Move]) -> str:
    """Steps up in words, for people: one by name, of more how many."""
    first = f"{moves[0].key} to {moves[0].after.share:g} %"
    if len(moves) == 1:
        return f"pipe {first}"
    return f"{len(moves)} pipes, the first is {first}"
