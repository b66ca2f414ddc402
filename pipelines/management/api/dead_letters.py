"""A tenant's dead letters: pages of them, one of them, and their replay."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Final

from confluent_kafka import KafkaException
from msgspec import Struct
from msgspec.structs import replace

from pipelines.management.api.problems import ProblemError, busy, no_brokers, tenant_busy
from shared.contracts.replays import LetterKey
from shared.dead_letters.dead_letter import DeadLetter, Filter, LeadsTo, still_open
from shared.dead_letters.replayed import ReplayedLetters
from shared.dead_letters.replayer import NotReplayedError, Replayer
from shared.dead_letters.search import Bounds, Page, Position, search
from shared.dead_letters.store import DeadLetterStore
from shared.runtime.clock import Clock
from shared.runtime.concurrency_limit import TenantConcurrencyLimit
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
AT_ONCE: Final = 3
"""Requests that a process handles at the same time."""

OF_TENANT: Final = 2
_AGAIN_SECONDS: Final = 1

MOST_REPLAYED: Final = 1_000
"""Letters of one replay."""

_MOST_RECORDS: Final = 20_000
_MOST_SECONDS: Final = 2.0
_BROKERS_SECONDS: Final = 5.0
_ACKNOWLEDGED_SECONDS: Final = 10.0
_REPLAY_RATE: Final = 1_000.0
_NONE: Final[frozenset[LetterKey]] = frozenset()


class Wanted(Struct, frozen=True, kw_only=True):
    """A search: what for, from where, and how far."""

    filter: Filter
    before: Position = {}
    limit: int
    replayed_too: bool = False


class Replayed(Struct, frozen=True, kw_only=True):
    """The effect of a replay, or of a dry run."""

    matching: int
    """Letters found that were not replayed before."""

    replayed_before: int
    replayed: int
    following: Position | None
    cut: bool


class DeadLetters:
    """May be used from any thread, in a `turn`. Raises ProblemError, 503 if the brokers do not answer."""

    def __init__(self, bootstrap: str, clock: Clock) -> None:
        """`bootstrap` is the side's brokers; empty if this API has none."""
        self._bootstrap, self._clock = bootstrap, clock
        self._known = ReplayedLetters()
        self._permits = TenantConcurrencyLimit(
            AT_ONCE, OF_TENANT, partial(busy, _AGAIN_SECONDS), partial(tenant_busy, _AGAIN_SECONDS)
        )
        self._replaying = threading.Lock()

    @contextmanager
    def turn(self, tenant: str) -> Iterator[None]:
        """A request's turn, which comes before all that is read for it: a tenant's pipes may be large."""
        if not self._bootstrap:
            raise no_brokers()
        with self._permits.permit(tenant):
            yield

    def page(self, leads_to: LeadsTo, wanted: Wanted) -> tuple[Page, ReplayedLetters]:
        """The newest letters that are wanted, and which were replayed."""
        with self._opened(leads_to) as store:
            return self._searched(store, wanted), store.replayed

    def one(self, leads_to: LeadsTo, wanted: Filter) -> tuple[DeadLetter, ReplayedLetters] | None:
        """The letter at a place, with its data; None if there is none."""
        with self._opened(leads_to) as store:
            found = next(store.letters(wanted), None)
            return None if found is None else (found, store.replayed)

    def replay(self, leads_to: LeadsTo, wanted: Wanted, *, dry_run: bool) -> Replayed:
        """Replay the wanted letters that were not replayed before, each once even if asked repeatedly."""
        # One after the other: the later one sees what the earlier one has replayed.
        with self._opened(leads_to) as store, self._replaying:
            store.refresh()
            return self._replayed(store, wanted, dry_run=dry_run)

    def _searched(self, store: DeadLetterStore, wanted: Wanted) -> Page:
        bounds = Bounds(letters=wanted.limit, records=_MOST_RECORDS, seconds=_MOST_SECONDS)
        closed = _NONE if wanted.replayed_too else store.replayed
        return search(store, wanted.filter, wanted.before, bounds, closed)

    def _replayed(self, store: DeadLetterStore, wanted: Wanted, *, dry_run: bool) -> Replayed:
        if wanted.filter.places is None:
            page = self._searched(store, wanted)
        else:
            page = _at_places(store, wanted.filter)
        done = Replayed(
            matching=len(page.letters),
            replayed_before=page.skipped,
            replayed=0,
            following=page.following,
            cut=page.cut,
        )
        if dry_run or not page.letters:
            return done
        places = frozenset((letter.key.partition, letter.key.offset) for letter in page.letters)
        sent = self._sent(store, replace(wanted.filter, places=places))
        return replace(done, replayed=sent)

    def _sent(self, store: DeadLetterStore, chosen: Filter) -> int:
        replayer = Replayer(self._bootstrap, self._clock, _ACKNOWLEDGED_SECONDS)
        try:
            replayer.send(still_open(store.letters(chosen), store.replayed), _REPLAY_RATE)
        except NotReplayedError as error:
            _log.warning("replay cut short", extra={"error": str(error), "replayed": replayer.sent})
            raise _away(f"{replayer.sent} were replayed, then the brokers did not answer") from error
        return replayer.sent

    @contextmanager
    def _opened(self, leads_to: LeadsTo) -> Iterator[DeadLetterStore]:
        try:
            with DeadLetterStore(
                self._bootstrap, leads_to, self._clock, self._known, _BROKERS_SECONDS
            ) as store:
                yield store
        except (KafkaException, TimeoutError) as error:
            _log.warning("dead letters cannot be read", extra={"error": str(error)})
            raise _away("the side's brokers do not answer") from error


def _at_places(store: DeadLetterStore, wanted: Filter) -> Page:
    """The letters at some places, without their data."""
    found = [replace(letter, value=None) for letter in store.letters(wanted)]
    letters = list(still_open(found, store.replayed))
    return Page(letters=letters, skipped=len(found) - len(letters), following=None, cut=False)


def _away(detail: str) -> ProblemError:
    said = f"{detail}; try again"
    return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, said, headers={"Retry-After": "5"})
