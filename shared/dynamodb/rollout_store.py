"""The states of rollouts in the table `documents`, and what each side's meter says of them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from shared.contracts.rollouts import (
    ROLLOUT_CARDS,
    ROLLOUTS,
    RolloutCard,
    RolloutState,
    card_key,
    key_and_side,
    state_key,
)
from shared.dynamodb.item_store import ItemStore


class RolloutStore:
    """Every method may be called from any thread and raises StoreError."""

    def __init__(self, table: str, endpoint: str | None) -> None:
        """`endpoint` is the URL of DynamoDB Local; None is AWS."""
        self._states = ItemStore(table, endpoint, RolloutState)
        self._cards = ItemStore(table, endpoint, RolloutCard)

    def states(self) -> dict[str, RolloutState]:
        """Every state, by `state_key`."""
        return dict(self._states.all(ROLLOUTS))

    def readable_states(self) -> tuple[dict[str, RolloutState], list[str]]:
        """Every state by `state_key`, and the keys of unreadable ones. To be shown, not to decide on."""
        found, unreadable = self._states.readable(ROLLOUTS)
        return dict(found), unreadable

    def state(self, tenant: str, pipe: str) -> RolloutState | None:
        """One pipe's state."""
        return self._states.get(ROLLOUTS, state_key(tenant, pipe))

    def put(self, key: str, state: RolloutState, side: str = "") -> RolloutState | None:
        """Write a state as the next revision; None if another write came since it was read.

        Args:
            key: `state_key` of its pipe.
            state: as it was read, or changed.
            side: the side of the provisioner that writes; empty for a request.
        """
        following = _next(state, side)
        return following if self._states.put_after(ROLLOUTS, key, following, state.revision) else None

    def put_guarded(
        self, key: str, state: RolloutState, side: str, guards: Sequence[dict[str, Any]]
    ) -> RolloutState | None:
        """Like `put`; also returns None if a guard failed, or another transaction came in between.

        Args:
            key: `state_key` of its pipe.
            state: as it was read, or changed.
            side: the side of the provisioner that writes.
            guards: items of a transaction that fail once the writer's activities are over.
        """
        following = _next(state, side)
        items = [self._states.revised(ROLLOUTS, key, following, state.revision), *guards]
        return following if self._states.transact(items) else None

    def forget(self, key: str, state: RolloutState) -> None:
        """Delete a state as it was read, and its cards; nothing if another write came since."""
        if not self._states.delete_after(ROLLOUTS, key, state.revision):
            return
        for sort, _ in self._cards.all(ROLLOUT_CARDS, f"{key}/"):
            self._cards.delete(ROLLOUT_CARDS, sort)

    def cards(self) -> dict[str, dict[str, RolloutCard]]:
        """Every card, by `state_key` and side."""
        found: dict[str, dict[str, RolloutCard]] = defaultdict(dict)
        for sort, card in self._cards.all(ROLLOUT_CARDS):
            key, side = key_and_side(sort)
            found[key][side] = card
        return found

    def put_card(self, key: str, side: str, card: RolloutCard) -> None:
        """Write a side's card over its former one."""
        self._cards.put(ROLLOUT_CARDS, card_key(key, side), card)


def _next(state: RolloutState, side: str) -> RolloutState:
    return replace(state, revision=state.revision + 1, side=side)
