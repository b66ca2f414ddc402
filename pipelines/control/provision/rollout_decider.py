"""Decides on the rollouts of all sides, one look at a time."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pipelines.control.provision.rollout_activities import Granted, RolloutActivities
from pipelines.control.provision.rollout_decision import operated
from pipelines.control.provision.rollout_moves import Move, moved, shown_steps
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import Pipe
from shared.contracts.rollouts import RolloutState, state_key, tenant_and_pipe
from shared.dynamodb.document_reader import DocumentReader
from shared.dynamodb.document_rows import UnreadableDocumentError
from shared.dynamodb.rollout_store import RolloutStore
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


class RolloutDecider:
    """Decides rollouts in the process that holds the lease. Not thread-safe; methods raise StoreError."""

    def __init__(
        self,
        *,
        side: str,
        store: RolloutStore,
        documents: DocumentReader,
        steps: RolloutActivities,
        clock: Clock,
    ) -> None:
        """`side` is the one that this process publishes on; `documents` says whether a pipe is gone."""
        self._side, self._store, self._documents, self._steps = side, store, documents, steps
        self._clock = clock
        self._strays: set[str] = set()
        """States without a pipe, at the last look."""

    def let_go(self) -> None:
        """End what the last look could not end."""
        self._steps.end()

    def decide(self, pipes: Mapping[str, Pipe]) -> None:
        """Move the rollouts of pipes on, when it has let go; `pipes` by `state_key`."""
        states, now_ms = self._store.states(), self._clock()
        cards = self._store.cards() if pipes else {}
        rising = []
        for key, pipe in pipes.items():
            assert pipe.rollout is not None
            move = moved(key, pipe.rollout, states.get(key), cards.get(key, {}), now_ms)
            if move.rises:
                rising.append(move)
            else:  # first of all: what goes down waits for nothing
                self._write(move)
        if rising:
            self._rise(rising, now_ms)
        self._forget(states, states.keys() - pipes.keys())

    def _rise(self, moves: Sequence[Move], now_ms: int) -> None:
        """Write steps up while each side's register has them, or that they wait."""
        sides = frozenset({self._side}).union(*(move.sides for move in moves))
        found = self._steps.begin(sides, shown_steps(moves))
        if not isinstance(found, Granted):
            _log.info("steps up wait", extra={"side": found.side, "reasons": list(found.reasons)})
            for move in moves:
                self._write(move.waiting(operated(found.side), now_ms))
            return
        try:
            for move in moves:
                written = self._store.put_guarded(move.key, move.after, self._side, found.guards)
                self._note(move.former, written, move.key)
        finally:
            self._steps.end()

    def _write(self, move: Move) -> None:
        if move.after != move.former:
            self._note(move.former, self._store.put(move.key, move.after, self._side), move.key)

    def _note(self, former: RolloutState | None, state: RolloutState | None, key: str) -> None:
        """Log what was written; None if another write came first: the next look starts from that."""
        if state is None:
            return
        if former is None or (former.state, former.step) != (state.state, state.step):
            said = {"pipe": key, "state": state.state, "share": state.share, "reason": state.reason}
            _log.info("rollout", extra=said)

    def _forget(self, states: Mapping[str, RolloutState], strays: set[str]) -> None:
        """Delete states without a pipe, if they were so at the look before too.

        The pipes are those of the provisioner's last look, which may be long ago: a pipe that was made since
        may have been paused already.
        """
        again = strays & self._strays
        for key in again - self._with_pipe(again):
            self._store.forget(key, states[key])
        self._strays = strays

    def _with_pipe(self, keys: Iterable[str]) -> set[str]:
        """Those of the states that have a pipe in the table now, or perhaps have one."""
        named, found = defaultdict[str, list[DocumentKey]](list), set[str]()
        for key in keys:
            tenant, pipe = tenant_and_pipe(key)
            named[tenant].append(DocumentKey("pipe", pipe))
        for tenant, pipes in named.items():
            try:
                there = self._documents.current(tenant, pipes).values()
                kept = [each.key for each in there if _has_rollout(each)]
            except UnreadableDocumentError:
                kept = pipes
            found.update(state_key(tenant, each.name) for each in kept)
        return found


def _has_rollout(each: StoredDocument) -> bool:
    return isinstance(each.document, Pipe) and each.document.rollout is not None
