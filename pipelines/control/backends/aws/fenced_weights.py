"""The weights of Route 53, set by one deployer at a time."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from pipelines.control.backends.aws.weighted_records import Traffic
from pipelines.control.deploy.backend import BackendError, FencedError
from shared.contracts.control_table import RELEASES
from shared.contracts.side_weights import SIDES, Weights
from shared.dynamodb.item_store import ItemStore

_KEY: Final = "fence/weights"
_WAIT_SECONDS: Final = 7.0
_PAUSE_SECONDS: Final = 0.5


class WeightsFence(Struct, frozen=True, kw_only=True):
    """The highest fence that has set weights; each write is the next revision."""

    fence: int
    revision: int


class _Change(NamedTuple):
    """A change of Route 53, which puts weights in force."""

    weights: Weights
    fence: int
    id: str


class FencedWeights:
    """Belongs to one thread."""

    def __init__(
        self, traffic: Traffic, table: str, endpoint: str | None, takes_events: Callable[[str], bool]
    ) -> None:
        """Set the weights of `traffic`.

        Args:
            traffic: the records.
            table: holds the fence.
            endpoint: the URL of DynamoDB Local; None is AWS.
            takes_events: whether a side, by its name, does so now.
        """
        self._traffic, self._fences = traffic, ItemStore(table, endpoint, WeightsFence)
        self._takes_events = takes_events
        self._change: _Change | None = None
        """The last one that was written; None if that is not known, or none was."""

    def weights(self) -> Weights:
        """How the traffic is shared now."""
        return self._traffic.weights()

    def closed(self) -> Sequence[str]:
        """The sides that get no traffic, whatever their weights."""
        return self._traffic.closed()

    def claim(self, fence: int) -> None:
        """Keep deployers with a lower fence away from now on.

        Raises:
            FencedError: if a higher one was here.
            BackendError: if another one came in between.
        """
        seen = self._fences.get(RELEASES, _KEY) or WeightsFence(fence=0, revision=0)
        if fence < seen.fence:
            raise FencedError(f"fence {fence} is over: {seen.fence} was seen")
        if fence > seen.fence:
            following = WeightsFence(fence=fence, revision=seen.revision + 1)
            if not self._fences.put_after(RELEASES, _KEY, following, seen.revision):
                raise BackendError("another deployer sets the weights at this moment")

    def set_weights(self, wanted: Mapping[str, int], fence: int) -> None:
        """Share the traffic otherwise; all name servers of Route 53 answer by it when this returns.

        Raises:
            FencedError: if a deployer with a higher fence was here.
            BackendError: if Route 53 needs longer, and the next call goes on waiting; or if a side that would
                get more traffic is closed, or takes no events.
        """
        self.claim(fence)
        shares = Weights(**dict(wanted))
        self._refuse_idle(self._traffic.weights(), shares)
        change = self._changed(shares, fence)
        until = time.monotonic() + _WAIT_SECONDS
        while not self._traffic.in_force(change.id):
            if time.monotonic() > until:
                raise BackendError("Route 53 has not put the weights in force yet")
            time.sleep(_PAUSE_SECONDS)

    def _changed(self, shares: Weights, fence: int) -> _Change:
        """The change that brings the weights: the last one, if it was this and none came since."""
        last, self._change = self._change, None  # what is written now may be in force though it fails
        if last is None or last[:2] != (shares, fence) or not self._traffic.holds(shares):
            last = _Change(shares, fence, self._traffic.set_weights(shares))
        self._change = last
        return last

    def _refuse_idle(self, before: Weights, wanted: Weights) -> None:
        """Refuse weight for a side that takes no events.

        Route 53 would send all traffic to the other side whatever the weights, and that one is stopped next.
        """
        more = [side for side in SIDES if wanted.of(side) > before.of(side)]
        if not more:
            return
        closed = self._traffic.closed()
        for side in more:
            if side in closed:
                raise BackendError(closed_text(side))
            if not self._may_take_events(side, serves=bool(before.of(side))):
                raise BackendError(f"{side} takes no events: no pod of collect is ready there")

    def _may_take_events(self, side: str, *, serves: bool) -> bool:
        """Whether a side takes events; a serving side that cannot be asked counts as if it did.

        The way back does not wait for an unreachable side.
        """
        try:
            return self._takes_events(side)
        except BackendError:
            if serves:
                return True
            raise


def closed_text(side: str) -> str:
    """Why a side gets no traffic, and what to do."""
    return (
        f"{side} is closed to traffic while its stack is changed; "
        f"once that is over, `python -m scripts.release.traffic open {side}` opens it"
    )
