"""Writes the checkpoints of a side that was stopped anew, so that the good version goes on from there.

Everything here may be repeated at any time.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pipelines.control.deploy.backend import Backend, CannotReplayError
from pipelines.control.deploy.replays import replay_positions
from shared.contracts.releases import Positions, Release
from shared.contracts.replay_range import REPLAYING_NODE
from shared.kafka.progress_group import group_name

_REPLAYED: Final = "goes back to the snapshot; what went through since is replayed"


def rewind(changing: Callable[[], Backend], release: Release) -> str:
    """Set the side that is put right to where it was stopped, or to its snapshot; says which, in words.

    Args:
        changing: gives the backend for one change, or raises BackendError if none may be made.
        release: the present one.

    Raises:
        BackendError: if the place cannot be used.
        FencedError: if a later deployer was here.
    """
    if release.left_at is None:
        return "positions are left as they are"
    left_at, spoilt = stood(release.left_at, release.snapshot or Positions())
    cause = f"; {', '.join(spoilt)} from the snapshot, as it cannot be read" if spoilt else ""
    if release.snapshot and (release.replay or REPLAYING_NODE in spoilt):
        begin = replay_positions(release.snapshot, left_at)
        try:
            _restore(changing(), release, begin, left_at)
            return f"{_REPLAYED}{cause}"
        except CannotReplayError as error:
            cause += f", without a replay: {error}"
    _restore(changing(), release, left_at, None)
    return f"goes on from where it was stopped{cause}"


def stood(left_at: Positions, snapshot: Positions) -> tuple[Positions, Sequence[str]]:
    """Where a side goes on, and the queries with a spoilt checkpoint: those go to the snapshot.

    So nothing is lost, though what those had read since is read again. It says the same after a checkpoint
    was made anew, which could then be read.

    Args:
        left_at: where the side was stopped, without queries with a checkpoint that cannot be decoded.
        snapshot: where it stood before.
    """
    spoilt = sorted(query for query in snapshot.queries if _is_spoilt(query, left_at, snapshot))
    groups = {group_name(query) for query in spoilt}
    return (
        Positions(
            queries=left_at.queries | {query: snapshot.queries[query] for query in spoilt},
            groups=left_at.groups | {name: at for name, at in snapshot.groups.items() if name in groups},
        ),
        spoilt,
    )


def _is_spoilt(query: str, left_at: Positions, snapshot: Positions) -> bool:
    """Whether it stands nowhere, or before its snapshot: no query goes back by itself."""
    before, found = snapshot.queries[query], left_at.queries.get(query)
    return found is None or any(found.get(name, 0) < offset for name, offset in before.items())


def _restore(backend: Backend, release: Release, positions: Positions, replayed: Positions | None) -> None:
    backend.restore(release.faulty, positions, replayed=replayed, fence=release.term)
