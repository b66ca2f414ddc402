"""Writes the checkpoints of a side that was stopped anew, so that the good version goes on from there.

Everything here may be repeated at any time.
"""

from collections.abc import Sequence
from typing import Final

from pipelines.control.deploy.backend import Backend, CannotReplayError
from pipelines.control.deploy.replays import replay_positions
from shared.contracts.releases import Positions, Release
from shared.contracts.replay_range import REPLAYING_NODE

_REPLAYED: Final = "goes back to the snapshot; what went through since is replayed"


def rewind(backend: Backend, release: Release) -> str:
    """Set the side that is put right to where it was stopped, or to its snapshot; says which, in words.

    Raises:
        BackendError: if the place cannot be used.
        FencedError: if a later deployer was here.
    """
    left_at, spoilt = _stood(backend, release)
    if left_at is None:
        return "positions are left as they are"
    cause = f"; {', '.join(spoilt)} from the snapshot, as it cannot be read" if spoilt else ""
    if release.snapshot and (release.replay or REPLAYING_NODE in spoilt):
        begin = replay_positions(release.snapshot, left_at)
        try:
            _restore(backend, release, begin, left_at)
            return f"{_REPLAYED}{cause}"
        except CannotReplayError as error:
            cause += f", without a replay: {error}"
    _restore(backend, release, left_at, None)
    return f"goes on from where it was stopped{cause}"


def _stood(backend: Backend, release: Release) -> tuple[Positions | None, Sequence[str]]:
    """Where the side was stopped, and the queries of which that is not known: those go to the snapshot.

    So nothing is lost, though what those had read since is read again.
    """
    if release.left_at is not None or release.snapshot is None:
        return release.left_at, ()
    found, before = backend.readable_positions(release.faulty), release.snapshot
    spoilt = sorted(set(before.queries) - set(found.queries))
    return Positions(queries=before.queries | found.queries, groups=found.groups), spoilt


def _restore(backend: Backend, release: Release, positions: Positions, replayed: Positions | None) -> None:
    backend.restore(release.faulty, positions, replayed=replayed, fence=release.term)
