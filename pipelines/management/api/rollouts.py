"""The rollouts of pipes: their state as it is shown, and the actions that callers ask for."""

from http import HTTPStatus
from typing import Final

from msgspec.structs import replace

from pipelines.management.api.problems import ProblemError
from shared.contracts.document_items import StoredDocument
from shared.contracts.documents import Pipe
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import (
    NotApplicableError,
    RolloutAction,
    RolloutState,
    RolloutView,
    opened,
    requested,
    standing,
    state_key,
)
from shared.dynamodb.client import StoreError
from shared.dynamodb.rollout_store import RolloutStore
from shared.runtime.clock import Clock

_TRIES: Final = 5


class Rollouts:
    """May be used from any thread. Raises StoreError."""

    def __init__(self, store: RolloutStore, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def shown(self, found: StoredDocument) -> RolloutView | None:
        """How far the rollout of a pipe is that has one; None for other documents."""
        rollout = _rollout_of(found)
        if rollout is None:
            return None
        stored = self._store.state(found.tenant, found.key.name)
        state = standing(rollout, stored, found.at_ms)
        return _view(state if state is stored else replace(state, reason="it begins in a moment"))

    def as_open(self, pipe: Pipe) -> Pipe:
        """A saved pipe with the share of its present step."""
        if pipe.rollout is None:
            return pipe
        document = opened(pipe, self._store.state(pipe.tenant, pipe.name))
        assert isinstance(document, Pipe)
        return document

    def request(self, found: StoredDocument, action: RolloutAction) -> RolloutView:
        """Do what is asked; a ProblemError with status 409 says that it does not apply."""
        rollout = _rollout_of(found)
        if rollout is None:
            raise ProblemError(HTTPStatus.CONFLICT, "this pipe has no rollout; add one to its document")
        key = state_key(found.tenant, found.key.name)
        for _ in range(_TRIES):
            state = standing(rollout, self._store.state(found.tenant, found.key.name), self._clock())
            try:
                wanted = requested(rollout, state, action, self._clock())
            except NotApplicableError as error:
                raise ProblemError(HTTPStatus.CONFLICT, str(error)) from None
            if self._store.put(key, wanted) is not None:
                return _view(wanted)
        raise StoreError(f"rollout {key}: other writes came in between at each of {_TRIES} tries")


def _rollout_of(found: StoredDocument) -> Rollout | None:
    return found.document.rollout if isinstance(found.document, Pipe) else None


def _view(state: RolloutState) -> RolloutView:
    return RolloutView(**{name: getattr(state, name) for name in RolloutView.__struct_fields__})
