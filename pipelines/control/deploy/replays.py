"""Where a side begins to process again what went through a bad version. Pure."""

from shared.contracts.releases import Positions
from shared.contracts.replay_range import REPLAYING_NODE
from shared.kafka.progress_group import group_name


def replay_positions(snapshot: Positions, left_at: Positions) -> Positions:
    """ingest goes back to the snapshot; all others go on from where the bad version left them.

    What they had to read since was written by the bad version. Read again it would be sent a second time, and
    what ingest makes anew of the same events comes to them by itself.

    Args:
        snapshot: where the side stood before the version ran, its chain read to the end.
        left_at: where the version was stopped.
    """
    group = group_name(REPLAYING_NODE)
    return Positions(
        queries=_with(left_at.queries, REPLAYING_NODE, snapshot.queries),
        groups=_with(left_at.groups, group, snapshot.groups),
    )


def _with(
    all_: dict[str, dict[str, int]], name: str, one: dict[str, dict[str, int]]
) -> dict[str, dict[str, int]]:
    others = {each: offsets for each, offsets in all_.items() if each != name}
    return others | ({name: one[name]} if name in one else {})
