"""The findings of a look at the two sides, for a release. Pure."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from pipelines.control.deploy.backend import (
    NONE_PINNED,
    Deployed,
    Obstacle,
    Pinned,
    Proof,
    Rating,
    Readiness,
    Remains,
    SideMinute,
    Weights,
)
from pipelines.control.deploy.deciding.transitions import onward
from pipelines.control.deploy.policy import Policy
from shared.contracts.releases import Positions, Release


class Seen(Struct, frozen=True, kw_only=True):
    """The findings of a look at the sides; None is not asked, or not known."""

    at_ms: int = 0
    """When the look began, epoch milliseconds."""

    problem: str = ""
    """Why the place could not be asked or changed."""

    weights: Weights | None = None
    pinned: Pinned = NONE_PINNED
    unroutable: str = ""
    """Why the first customers' events cannot be sent to one side."""

    deployed: Mapping[str, Deployed] = {}
    obstacles: Sequence[Obstacle] | None = None
    closed: str = ""
    """Why the side that a rollback would go to takes no traffic."""

    no_way_back: str = ""
    """Why the version that serves could not be started again."""

    readiness: Readiness | None = None
    silent: bool = False
    """Whether nothing is known of the health of the side that is drained, waits to be parked, or is left by a
    switch.
    """

    trouble: bool = False
    """Whether the side that a switch leaves has not been stable in the last minutes."""

    positions: Positions | None = None
    proof: Proof | None = None
    rating: Rating | None = None
    former_rating: Rating | None = None
    minutes: Sequence[SideMinute] = ()
    """The target's minutes, from the one in which its traffic began."""

    former_minutes: Sequence[SideMinute] | None = None
    """The same minutes of the other side; empty if it had none."""

    remains: Remains | None = None
    dead_letters: Mapping[str, int] | None = None
    """Dead letters by reason, once the side has read everything."""

    restored: str = ""
    """Where the rewound side goes on, in words; empty before it was rewound."""


class Look(Struct, frozen=True, kw_only=True):
    """A look at a release that is under way."""

    release: Release
    seen: Seen
    policy: Policy
    now_ms: int
    """Epoch milliseconds."""

    def onward(self, said: str = "") -> Release:
        """The release at its next step, with what came of this one."""
        return onward(self.release, self.now_ms, said)
