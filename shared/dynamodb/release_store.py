"""Releases in the table `documents`: the present one, and those that have ended."""

from collections.abc import Sequence
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from msgspec.structs import replace

from shared.contracts.control_table import RELEASES
from shared.contracts.release_requests import Request, requested
from shared.contracts.releases import CURRENT, Release, SideState, history_key, side_key
from shared.dynamodb.client import CONDITION_FAILED, StoreError, cancellations, conflicts, dynamodb_client
from shared.dynamodb.item_store import ItemStore
from shared.runtime.clock import Clock

_TRIES: Final = 10
_LOOKED_AT: Final = 50
"""Releases, of which one is looked for that changed something."""


class ReleaseStore:
    """Every method may be called from any thread and raises StoreError."""

    def __init__(self, table: str, endpoint: str | None) -> None:
        """`endpoint` is the URL of DynamoDB Local; None is AWS."""
        self._client: Any = dynamodb_client(endpoint)
        self._items = ItemStore(table, endpoint, Release)
        self._states = ItemStore(table, endpoint, SideState)
        self._table = table

    def current(self) -> Release | None:
        """The release that is under way, or that ended last; None if there never was one."""
        return self._items.get(RELEASES, CURRENT)

    def ended(self, limit: int) -> list[Release]:
        """The last releases that have ended, newest first."""
        prefix = history_key(0).partition("/")[0]
        found, _ = self._items.page(RELEASES, None, limit, prefix=f"{prefix}/", forward=False)
        return [release for _, release in found]

    def sides(self) -> list[SideState]:
        """The state of each side as the deployer last saw it."""
        return [state for _, state in self._states.all(RELEASES, side_key(""))]

    def put_side(self, state: SideState) -> None:
        """Write a side's state over its former one."""
        self._states.put(RELEASES, side_key(state.side), state)

    def put(self, release: Release, guards: Sequence[dict[str, Any]] = ()) -> Release | None:
        """Write the present release as the next revision.

        Args:
            release: as it was read, or changed.
            guards: items of a transaction that fail once the writer's activities are over.

        Returns:
            The release as it is written; None if another write came since it was read, or a guard failed.
        """
        following = replace(release, revision=release.revision + 1)
        items = [self._items.revised(RELEASES, CURRENT, following, release.revision), *guards]
        if following.ended:
            items.append(self._items.written(RELEASES, history_key(following.number), following))
        for _ in range(_TRIES):
            try:
                self._client.transact_write_items(TransactItems=items)
            except (BotoCoreError, ClientError) as error:
                if CONDITION_FAILED in cancellations(error):
                    return None
                if not conflicts(error):
                    raise StoreError(f"table {self._table} cannot be written: {error}") from error
            else:
                return following
        raise StoreError(f"table {self._table}: other writes came in between at each of {_TRIES} tries")

    def _changed_before(self, current: Release | None) -> Release | None:
        """The last release that changed something, if the present one did not; of the newest ones."""
        if current is None or not current.changed_nothing:
            return None
        return next((each for each in self.ended(_LOOKED_AT) if not each.changed_nothing), None)

    def request(self, asked: Request, clock: Clock) -> Release:
        """Ask the deployer for something; it begins when it next looks.

        Raises:
            RequestRefusedError: if it does not fit what is under way.
        """
        for _ in range(_TRIES):
            current = self.current()
            written = self.put(requested(current, asked, clock(), self._changed_before(current)))
            if written is not None:
                return written
        raise StoreError(f"table {self._table}: the release was changed at each of {_TRIES} tries")
